"""`rheostat run`: runs the user's own topology on Spark under the control loop."""

import importlib.util
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from rheostat.cli.live_view import LiveView, show_live
from rheostat.cli.run_history import RunHistory
from rheostat.cli.shared_options import PolicyOptionTexts, parse_policy_options
from rheostat.cli.spark_output import spark_output_to
from rheostat.cli.spark_target import ClusterFolder, Master, check_target, open_target
from rheostat.duration import positive_seconds
from rheostat.errors import ConfigError
from rheostat.loop.options import LoopOptions
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.topology import Topology


def run_application(
    app: Annotated[
        str,
        typer.Argument(
            metavar="APP.py[:name]", help="A Python file, and the name of the topology in it.", show_default=False
        ),
    ],
    sla: Annotated[str, typer.Option(help="Latency and window of the SLA, e.g. 2s/10s.")],
    policy: Annotated[str, typer.Option(help="Policy name; `rheostat policies` lists them.")] = "threshold",
    option: PolicyOptionTexts = None,
    master: Master = None,
    folder: ClusterFolder = None,
    max_executors: Annotated[
        int | None, typer.Option(min=1, help="Upper limit for all executors, the one that sources need included.")
    ] = None,
    for_: Annotated[str | None, typer.Option("--for", help="Stop after this time, e.g. 10m.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show decisions without carrying them out.")] = False,
    directory: Annotated[
        Path, typer.Option("--dir", help="Folder for checkpoints, streams, results and the journal.")
    ] = Path("rheostat-run"),
    period: Annotated[str, typer.Option(help="Time between two turns of the control loop.")] = "2s",
) -> None:
    """Run a topology on Spark and keep it within its SLA. Ctrl-C stops it when the running batches have finished."""
    topology, promised, budget = load_topology(app), SLA.parse(sla), Budget(max_executors)
    policy_options = parse_policy_options(option)
    make_policy(policy, Goal(topology, (promised,), budget), policy_options)  # errors are reported before Spark starts
    period_s = positive_seconds(period, "--period")
    end_s = None if for_ is None else positive_seconds(for_, "--for")
    check_target(master, folder)
    from rheostat.pipeline import start
    from rheostat.spark.target import SparkTarget

    history = RunHistory()
    console = Console()
    with ExitStack() as stack:
        with console.status("starting a Spark cluster ..."):
            cluster = stack.enter_context(open_target(master, folder, _room_for(topology, max_executors)))
        with console.status("starting the queries ..."), spark_output_to(directory / "spark.log"):
            running = stack.enter_context(
                start(
                    topology,
                    sla=promised,
                    policy=policy,
                    options=policy_options,
                    budget=budget,
                    directory=directory,
                    on=SparkTarget(master=master, cluster=cluster),
                    loop=LoopOptions(period_s, dry_run=dry_run),
                    listeners=[history],
                )
            )
        with show_live(LiveView(topology.name, history, promised), console):
            wait_for(running, end_s)
    console.print(f"stopped; run it again with --dir {directory} to continue from here")


def _room_for(topology: Topology, max_executors: int | None) -> int:
    """What an embedded cluster has room for: the budget, or two executors for each operator and one for sources."""
    return max_executors or 2 * len(topology.operators) + 1


def wait_for(running: Any, end_s: float | None) -> None:
    """Wait until `end_s` or Ctrl-C; the caller then stops the run cleanly."""
    try:
        running.wait(end_s)
    except KeyboardInterrupt:
        print("stopping when the running batches have finished", file=sys.stderr)


def load_topology(app: str) -> Topology:
    """The topology that `APP.py[:name]` names; without a name the only one in the file."""
    path, _, name = app.partition(":")
    if not Path(path).is_file():
        raise ConfigError(f"application {path!r} does not exist: give a Python file")
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
