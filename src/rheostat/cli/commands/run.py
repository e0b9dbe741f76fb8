"""`rheostat run`: runs the user's own topology on Spark under the control loop."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from rheostat.cli.application import load_topology
from rheostat.cli.live_view import LiveView, show_live, watch
from rheostat.cli.run_history import RunHistory
from rheostat.cli.run_settings import SINK_FORMS, RunSettings, merged_settings
from rheostat.cli.shared_options import (
    PolicyName,
    PolicyOptionTexts,
    parse_numbers,
    parse_pairs,
    parse_policy_options,
)
from rheostat.cli.spark_target import ClusterFolder, Master, check_target, open_target
from rheostat.duration import positive_seconds
from rheostat.errors import ConfigError, RheostatError
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.topology import Topology

if TYPE_CHECKING:
    from rheostat.pipeline import Pipeline


def run_application(
    app: Annotated[
        str | None,
        typer.Argument(
            metavar="APP.py[:name]", help="A Python file, and the name of the topology in it.", show_default=False
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings; `rheostat init` writes one. Options here win.")
    ] = None,
    sla: Annotated[str | None, typer.Option(help="Latency and window of the SLA, e.g. 2s/10s.")] = None,
    policy: PolicyName = None,
    option: PolicyOptionTexts = None,
    master: Master = None,
    folder: ClusterFolder = None,
    executors: Annotated[
        list[str] | None,
        typer.Option(metavar="[OPERATOR=]N", help="Executors to start with, for each operator; can be repeated."),
    ] = None,
    min_executors: Annotated[
        list[str] | None,
        typer.Option(metavar="[OPERATOR=]N", help="Fewest executors of each operator; can be repeated."),
    ] = None,
    max_executors: Annotated[
        int | None, typer.Option(min=1, help="Upper limit for all executors, the one that sources need included.")
    ] = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR=SINK", help=f"Where results go: {SINK_FORMS}; can be repeated."),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Setting of Spark; can be repeated.")
    ] = None,
    packages: Annotated[
        str | None, typer.Option(help="Maven packages that Spark loads, separated by commas.", metavar="G:A:V,...")
    ] = None,
    for_: Annotated[str | None, typer.Option("--for", help="Stop after this time, e.g. 10m.")] = None,
    dry_run: Annotated[
        bool | None, typer.Option("--dry-run/--no-dry-run", help="Show decisions without carrying them out.")
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--dir", help="Folder for checkpoints, streams, results and the journal (rheostat-run)."),
    ] = None,
    period: Annotated[str | None, typer.Option(help="Time between two turns of the control loop (2s).")] = None,
) -> None:
    """Run a topology on Spark and keep it within its SLA.

    Ctrl-C (exit status 130) and SIGTERM (143) stop it when the running batches have finished, at the latest after a
    minute. A second one stops it at once. Run again with the same --dir it continues.
    """
    given = {
        "app": app,
        "sla": sla,
        "policy": policy,
        "master": master,
        "cluster": None if folder is None else str(folder),
        "dir": directory,
        "executors": parse_numbers(executors, "--executors"),
        "min_executors": parse_numbers(min_executors, "--min-executors"),
        "max_executors": max_executors,
        "period": period,
        "for": for_,
        "dry_run": dry_run,
        "packages": None if packages is None else [name.strip() for name in packages.split(",") if name.strip()],
        "options": parse_policy_options(option),
        "sinks": parse_pairs(sink, "--sink", "count=json:results"),
        "conf": parse_pairs(conf, "--conf", "spark.executor.memory=1g"),
    }
    _run(merged_settings(config, given))


def _run(settings: RunSettings) -> NoReturn:
    """Errors of the user are found before Spark starts."""
    if settings.app is None or settings.sla is None:
        lacking = "application: give APP.py, or app" if settings.app is None else "SLA: give --sla, e.g. 5s/30s, or sla"
        raise ConfigError(f"the run has no {lacking} in a --config file")
    topology, sla = load_topology(settings.app), SLA.parse(settings.sla)
    budget = settings.budget(topology)
    plan = settings.first_plan(topology, budget)
    make_policy(settings.policy, Goal(topology, (sla,), budget), settings.options)
    loop = LoopOptions(positive_seconds(settings.period, "--period"), dry_run=settings.dry_run)
    end_s = None if settings.for_ is None else positive_seconds(settings.for_, "--for")
    folder = None if settings.cluster is None else Path(settings.cluster)
    check_target(settings.master, folder)
    from rheostat.pipeline import start
    from rheostat.spark.query.sinks import checked_sinks
    from rheostat.spark.query.unit import units_of
    from rheostat.spark.target import SparkTarget

    sinks = checked_sinks(settings.sinks, units_of(topology))
    history, console = RunHistory(), Console()
    with ExitStack() as stack:
        with console.status("starting a Spark cluster ..."):
            cluster = stack.enter_context(open_target(settings.master, folder, _room_for(topology, budget, plan)))
        with console.status("starting the queries ..."), spark_output_to(Path(settings.dir) / "spark.log"):
            running = stack.enter_context(
                start(
                    topology,
                    sla=sla,
                    policy=settings.policy,
                    options=settings.options,
                    budget=budget,
                    plan=plan,
                    directory=settings.dir,
                    sinks=sinks,
                    on=SparkTarget(master=settings.master, cluster=cluster, settings=settings.spark_settings),
                    loop=loop,
                    listeners=watch(history, sla, console),
                )
            )
        with show_live(LiveView(topology.name, history, sla), console):
            status = running.wait_for_stop(end_s)
        if status:
            print("stopping when the running batches have finished; a second signal stops at once", file=sys.stderr)
    console.print(f"stopped; run it again with --dir {settings.dir} to continue from here", soft_wrap=True)
    _end_with(running, status)


def _room_for(topology: Topology, budget: Budget, plan: Plan | None) -> int:
    """What an embedded cluster has room for: the budget, or twice what the run starts with and one for sources."""
    first = sum(map(budget.minimum, topology.operators)) if plan is None else plan.total
    return budget.total or 2 * first + 1


def _end_with(running: "Pipeline", status: int) -> NoReturn:
    """Exit with `status`. An operator that never ran is an error, and is named even after a signal."""
    try:
        running.check_all_ran()
    except RheostatError as error:
        if not status:
            raise
        print(f"error: {error}", file=sys.stderr)
    raise typer.Exit(status)
