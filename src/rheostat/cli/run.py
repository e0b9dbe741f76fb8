"""`rheostat run`: a pipeline of the user's own, on Spark, under control."""

import importlib.util
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from rheostat.cli.history import History
from rheostat.cli.options import PolicyOptionTexts, parsed
from rheostat.cli.quiet import quiet_spark
from rheostat.cli.spark_target import Master, Started, check_where, cluster_for
from rheostat.cli.view import View, shown
from rheostat.duration import positive_seconds
from rheostat.errors import ConfigError
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.topology import Topology


def run_application(
    app: Annotated[
        str, typer.Argument(metavar="APP.py[:name]", help="A Python file and the topology in it.", show_default=False)
    ],
    sla: Annotated[str, typer.Option(help="Latency and window, e.g. 2s/10s.")],
    policy: Annotated[str, typer.Option(help="Name of a policy; `rheostat policies` lists them.")] = "threshold",
    option: PolicyOptionTexts = None,
    master: Master = None,
    started: Started = None,
    max_executors: Annotated[int | None, typer.Option(min=1, help="Most executors of all operators together.")] = None,
    for_: Annotated[str | None, typer.Option("--for", help="Stop after this time, e.g. 10m.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide and tell, but change nothing.")] = False,
    directory: Annotated[Path, typer.Option("--dir", help="Checkpoints, streams, results, journal.")] = Path(
        "rheostat-run"
    ),
    period: Annotated[str, typer.Option(help="From one observation to the next.")] = "2s",
) -> None:
    """Run a topology on Spark and keep it within its SLA. Ctrl-C stops after the batches under way."""
    topology, promised, budget = load_topology(app), SLA.parse(sla), Budget(max_executors)
    make_policy(policy, Goal(topology, (promised,), budget), parsed(option))  # a mistake is told before Spark starts
    period_s = positive_seconds(period, "--period")
    end_s = None if for_ is None else positive_seconds(for_, "--for")
    check_where(master, started)
    from rheostat.pipeline import start

    history = History()
    console = Console()
    with ExitStack() as ending:
        with console.status("starting a Spark cluster ..."):
            cluster = ending.enter_context(cluster_for(master, started))
        with console.status("starting the queries ..."), quiet_spark(directory / "spark.log"):
            running = ending.enter_context(
                start(
                    topology,
                    sla=promised,
                    policy=policy,
                    options=parsed(option),
                    budget=budget,
                    directory=directory,
                    master=master,
                    cluster=cluster,
                    period=period_s,
                    dry_run=dry_run,
                    listeners=[history],
                )
            )
        with shown(View(topology.name, history, promised), console):
            wait_for(running, end_s)
    console.print(f"stopped; started again with --dir {directory} it goes on from here")


def wait_for(running: Any, end_s: float | None) -> None:
    """Wait for the end, or for Ctrl-C: what follows stops cleanly."""
    try:
        running.wait(end_s)
    except KeyboardInterrupt:
        print("stopping after the batches under way", file=sys.stderr)


def load_topology(app: str) -> Topology:
    """The topology that `APP.py[:name]` names; without a name the only one in the file."""
    path, _, name = app.partition(":")
    if not Path(path).is_file():
        raise ConfigError(f"application {path!r} does not exist: name a Python file")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"application {path!r} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path(path).absolute().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"application {path!r} cannot be loaded: {type(error).__name__}: {error}") from error
    found = {key: value for key, value in vars(module).items() if isinstance(value, Topology)}
    if name:
        if name not in found:
            raise ConfigError(f"{path!r} has no topology {name!r}; it has: {', '.join(found) or 'none'}")
        return found[name]
    if len(found) != 1:
        raise ConfigError(
            f"{path!r} has {len(found)} topologies ({', '.join(found) or 'none'}): name one as {path}:NAME"
        )
    return next(iter(found.values()))
