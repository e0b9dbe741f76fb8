"""`rheostat demo`: a word count under a changing load, for three minutes on an embedded Spark cluster."""

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from rheostat.cli.dashboard_option import print_address
from rheostat.cli.live_view import LiveView, show_live, watch
from rheostat.cli.pictures import check_picture, draw_run
from rheostat.cli.run_history import RunHistory
from rheostat.duration import human, positive_seconds
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.policies.registry import DEFAULT_POLICY, make_options, policy_class
from rheostat.sla import SLA, Budget
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.web.address import LOOPBACK

if TYPE_CHECKING:
    from rheostat.pipeline import Pipeline

COST_S = 0.03
PERIOD_S = 2.0
MAX_EXECUTORS = 6
MAX_COUNT_EXECUTORS = 2
SUBSTREAMS = 4
KEEP = "10s"
CAUTION = 0.5

_FIRST_RESULTS_TIMEOUT_S = 180.0
_WARM_UP_S = 20.0
_POLL_S = 0.2


def demo(
    policy: Annotated[str, typer.Option(help="Policy name; `rheostat policies` lists them.")] = DEFAULT_POLICY,
    sla: Annotated[str, typer.Option(help="Latency and window of the SLA.")] = "5s/30s",
    for_: Annotated[str, typer.Option("--for", help="How long to run.")] = "3m",
    dashboard: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to serve the page of the run.")] = LOOPBACK,
    picture: Annotated[Path, typer.Option(help="File for the picture of the run.")] = Path("rheostat-demo.png"),
) -> None:
    """Run a word count on an embedded Spark cluster under a load that rises, spikes, becomes skewed and falls."""
    promised, duration_s = SLA.parse(sla), positive_seconds(for_, "--for")
    check_picture(picture)
    make_options(policy_class(policy), _options(policy, promised))  # errors are reported before Spark starts
    console = Console()
    console.print(
        f"Word count on an embedded Spark cluster for {human(duration_s)}, SLA {promised}, policy {policy}.\n"
        f"Each sentence takes {human(COST_S)}, emulated by sleeping: one executor splits about "
        f"{1 / COST_S:.0f} sentences a second, however many cores this machine has.",
        highlight=False,
    )
    history, status = _run(console, policy, promised, duration_s, dashboard)
    _summarise(console, history, promised)
    draw_run(history, promised, f"Rheostat demo: word count on Spark, policy {policy}", picture)
    console.print(f"picture: {picture}")
    raise typer.Exit(status)


def _run(console: Console, policy: str, sla: SLA, duration_s: float, dashboard: str) -> tuple[RunHistory, int]:
    """What happened, and the exit status: that of a signal, if one ended the demo."""
    import numpy as np

    from rheostat.load import Constant, Progressive, Spike
    from rheostat.load.skew import zipf
    from rheostat.pipeline import start
    from rheostat.spark.act.cluster_view import RESERVED_EXECUTORS
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import Node
    from rheostat.spark.target import FAST_START_SETTINGS, SparkTarget
    from rheostat.workloads.feeder import Feeder
    from rheostat.workloads.wordcount import sentences, word_count

    part_s = duration_s / 9
    load = Progressive(15, 90, 2 * part_s, 3 * part_s, part_s, start=part_s)
    load_and_spike = load + Spike(1, 35, 4.5 * part_s, part_s / 2) + Constant(0)
    history = RunHistory()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="rheostat-demo-", ignore_cleanup_errors=True))
        )
        with console.status("starting a Spark cluster with two nodes ..."):
            nodes = [Node("north", cores=8, memory="6g"), Node("south", cores=8, memory="6g")]
            cluster = stack.enter_context(EmbeddedCluster(nodes))
        topology = word_count(folder / "sentences", cost_s=COST_S, substreams=SUBSTREAMS, keep_files=False)
        make = sentences(zipf(500, 0.9), np.random.default_rng(7), rotate_at_s=6 * part_s)
        trickle = Feeder(folder / "sentences", Constant(10), make)
        feeder = Feeder(folder / "sentences", load_and_spike, make)
        with console.status("starting queries and executors ..."), spark_output_to(folder / "spark.log"):
            running = stack.enter_context(
                start(
                    topology,
                    sla=sla,
                    policy=policy,
                    options=_options(policy, sla),
                    budget=Budget(MAX_EXECUTORS + RESERVED_EXECUTORS, most={"count": MAX_COUNT_EXECUTORS}),
                    plan=Plan.initial(topology),
                    directory=folder / "run",
                    on=SparkTarget(cluster=cluster, settings=FAST_START_SETTINGS),
                    loop=LoopOptions(PERIOD_S),
                    listeners=watch(history, sla, console),
                    dashboard=dashboard,
                )
            )
            assert running.dashboard is not None
            print_address(running.dashboard, console)
            running.controller.pause("demo")
            with trickle:
                _await_first_results(running, history)
                running.wait(_WARM_UP_S)
            running.controller.resume("demo")
            history.turns.clear()
        with feeder, show_live(LiveView("word count", history, sla, running.dashboard.url), console):
            status = running.wait_for_stop(duration_s)
    return history, status


def _options(policy: str, sla: SLA) -> dict[str, str]:
    """The demo is a day in three minutes: executors are kept for a shorter time after they were last needed, and a rise
    that has not been seen yet, which counts in the first ten minutes by default, is not prepared for.

    Batches alone take about half of the SLA here, so latency would never fall below DRS's default T_min.
    """
    return {
        "drs": {"t_min": f"{0.75 * sla.latency_s}s", "keep": KEEP},
        DEFAULT_POLICY: {"keep": KEEP, "caution": str(CAUTION)},
    }.get(policy, {})


def _await_first_results(running: "Pipeline", history: RunHistory) -> None:
    """The demo begins when executors have started and their code is warm."""
    deadline = time.monotonic() + _FIRST_RESULTS_TIMEOUT_S
    while not any(turn.completed for turn in history.turns[-1:]) and time.monotonic() < deadline:
        running.wait(_POLL_S)


def _summarise(console: Console, history: RunHistory, sla: SLA) -> None:
    rate = history.success_rate(sla, PERIOD_S)
    peak = max((turn.serving + turn.reserved for turn in history.turns), default=0)
    spent_s, static_s = history.executor_seconds(), peak * history.duration_s()
    met = "not measured" if rate is None else f"met in {100 * rate:.1f} % of its windows"
    console.print(f"SLA {sla}: {met}", highlight=False)
    console.print(
        f"executor-seconds: {spent_s:,.0f} including the source; "
        f"{static_s:,.0f} with the {peak} executors of the peak all the time"
        + (f" ({100 * (1 - spent_s / static_s):.0f} % saved)" if static_s else ""),
        highlight=False,
    )
