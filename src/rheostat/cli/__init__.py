"""The command line, one file for each command. A user's mistake ends with a sentence, not with a trace."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from rheostat.cli import (
    cluster,
    demo,
    doctor,
    error_messages,
    forecast,
    forecaster,
    place,
    plan,
    policies,
    replay,
    reproduce,
    run,
    simulate,
)
from rheostat.errors import RheostatError

app = typer.Typer(name="rheostat", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("demo")(demo.demo)
app.command("run")(run.run_application)
app.command("doctor")(doctor.examine)
app.command("simulate")(simulate.simulate_scenario)
app.command("policies")(policies.list_policies)
app.command("replay")(replay.replay_journal)
app.command("plan")(plan.plan_allocation)
app.command("place")(place.place_tasks)
app.command("forecast")(forecast.forecast_trace)
app.command("forecaster")(forecaster.serve_forecasts)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(cluster.app, name="cluster")


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"rheostat {version('rheostat')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and end.")
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
        message = error_messages.told(error)
        if message is None:
            raise
        if message:
            print(f"error: {message}", file=sys.stderr)
        sys.exit(RheostatError.exit_code)
