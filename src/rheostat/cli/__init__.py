"""The command line, one file for each command. A user's mistake ends with a sentence, not with a trace."""

import sys

import typer

from rheostat.cli import (
    cluster,
    demo,
    doctor,
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

app = typer.Typer(
    name="rheostat",
    help="Keep PySpark streaming pipelines within a latency SLA on as few executors as possible.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
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


def main() -> None:
    """Entry point of the `rheostat` command."""
    try:
        app()
    except RheostatError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
