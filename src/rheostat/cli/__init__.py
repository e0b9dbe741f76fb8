"""Command line: the `rheostat` command, with one module for each subcommand in `commands`.

A user error ends with one line on the error output and exit code 2, never with a traceback.
"""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from rheostat.cli.commands import (
    calibrate,
    cluster,
    compare,
    dashboard,
    demo,
    doctor,
    explain,
    forecast,
    forecaster,
    init,
    place,
    plan,
    policies,
    replay,
    report,
    reproduce,
    run,
    simulate,
    watch,
)
from rheostat.cli.dashboard_option import DashboardCommand
from rheostat.cli.error_messages import message_for
from rheostat.errors import RheostatError

app = typer.Typer(name="rheostat", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("demo")(demo.demo)
app.command("run", cls=DashboardCommand)(run.run_application)
app.command("dashboard")(dashboard.serve_dashboard)
app.command("init")(init.write_settings)
app.command("doctor")(doctor.check_spark)
app.command("simulate", cls=DashboardCommand)(simulate.simulate_scenario)
app.command("calibrate")(calibrate.calibrate_application)
app.command("compare")(compare.compare_policies)
app.command("policies")(policies.list_policies)
app.command("watch")(watch.watch_journal)
app.command("report")(report.report_journal)
app.command("explain")(explain.explain_journal)
app.command("replay")(replay.replay_journal)
app.command("plan")(plan.plan_allocation)
app.command("place")(place.place_tasks)
app.command("forecast")(forecast.forecast_trace)
app.command("forecaster")(forecaster.serve_forecasts)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(cluster.app, name="cluster")


def _print_version(requested: bool) -> None:
    if requested:
        print(f"rheostat {version('rheostat')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Keep PySpark streaming pipelines within a latency SLA on as few executors as possible."""


def main() -> None:
    """Entry point of the `rheostat` command."""
    try:
        sys.exit(app(standalone_mode=False))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        message = message_for(error)
        if message is None:
            raise
        if message:
            print(f"error: {message}", file=sys.stderr)
        sys.exit(RheostatError.exit_code)
