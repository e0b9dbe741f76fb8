"""`rheostat demo`: three minutes that show what Rheostat does, on a real Spark cluster."""

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from rheostat.cli.history import History
from rheostat.cli.picture import draw
from rheostat.cli.picture_file import picture_file
from rheostat.cli.quiet import quiet_spark
from rheostat.cli.run import wait_for
from rheostat.cli.view import View, shown
from rheostat.duration import human, positive_seconds
from rheostat.policies.registry import make_options, policy_class
from rheostat.sla import SLA, Budget

if TYPE_CHECKING:
    from rheostat.pipeline import Running

COST_S = 0.02
PERIOD_S = 2.0
MOST_EXECUTORS = 6
MOST_TO_COUNT = 2
SUBSTREAMS = 4
QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For processes that live a few minutes on few cores: nothing is compiled at length, nothing is collected beside."""

_PATIENCE_S = 180.0
_WARM_UP_S = 20.0
_LOOK_S = 0.2


def demo(
    policy: Annotated[str, typer.Option(help="The policy that controls.")] = "drs",
    sla: Annotated[str, typer.Option(help="Latency and window.")] = "8s/30s",
    for_: Annotated[str, typer.Option("--for", help="How long to run.")] = "3m",
    picture: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("rheostat-demo.png"),
) -> None:
    """Word count on an embedded Spark cluster under a load that rises, spikes, gets skewed and falls."""
    promised, duration_s = SLA.parse(sla), positive_seconds(for_, "--for")
    picture_file(picture)
    make_options(policy_class(policy), _options(policy, promised))  # a mistake is told before Spark starts
    console = Console()
    console.print(
        f"Word count on an embedded Spark cluster for {human(duration_s)}, SLA {promised}, policy {policy}.\n"
        f"Each sentence costs {human(COST_S)}, emulated by waiting: so one executor splits about "
        f"{1 / COST_S:.0f} sentences a second, whatever the number of cores here.",
        highlight=False,
    )
    history = _run(console, policy, promised, duration_s)
    _summarise(console, history, promised)
    draw(history, promised, f"Rheostat demo: word count on Spark, policy {policy}", picture)
    console.print(f"picture: {picture}")


def _run(console: Console, policy: str, sla: SLA, duration_s: float) -> History:
    import numpy as np

    from rheostat.load import Constant, Progressive, Spike
    from rheostat.load.skew import zipf
    from rheostat.pipeline import start
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import Node
    from rheostat.workloads.feeder import Feeder
    from rheostat.workloads.wordcount import sentences, word_count

    part_s = duration_s / 9
    load = Progressive(15, 90, 2 * part_s, 3 * part_s, part_s, start=part_s)
    load_and_spike = load + Spike(1, 60, 4.5 * part_s, part_s / 2) + Constant(0)
    history = History()
    with ExitStack() as ending:
        folder = Path(
            ending.enter_context(tempfile.TemporaryDirectory(prefix="rheostat-demo-", ignore_cleanup_errors=True))
        )
        with console.status("starting a Spark cluster of two nodes ..."):
            nodes = [Node("north", cores=8, memory="6g"), Node("south", cores=8, memory="6g")]
            cluster = ending.enter_context(EmbeddedCluster(nodes))
        make = sentences(zipf(500, 0.9), np.random.default_rng(7), rotate_at_s=6 * part_s)
        trickle = Feeder(folder / "sentences", Constant(10), make)
        feeder = Feeder(folder / "sentences", load_and_spike, make)
        with console.status("starting the queries and their first executors ..."), quiet_spark(folder / "spark.log"):
            running = ending.enter_context(
                start(
                    word_count(folder / "sentences", cost_s=COST_S, substreams=SUBSTREAMS),
                    sla=sla,
                    policy=policy,
                    options=_options(policy, sla),
                    budget=Budget(MOST_EXECUTORS, most={"count": MOST_TO_COUNT}),
                    standby={"split": 1},
                    settings={
                        "spark.driver.extraJavaOptions": QUICK_TO_START,
                        "spark.executor.extraJavaOptions": QUICK_TO_START,
                    },
                    directory=folder / "run",
                    cluster=cluster,
                    period=PERIOD_S,
                    cooldown="6s",
                    listeners=[history],
                )
            )
            running.controller.pause()
            with trickle:
                _await_first_results(running, history)
                running.wait(_WARM_UP_S)
            running.controller.resume()
            history.moments.clear()
        with feeder, shown(View("word count", history, sla), console):
            wait_for(running, duration_s)
    return history


def _options(policy: str, sla: SLA) -> dict[str, str]:
    """The batches alone take about half of the SLA here: DRS's own T_min of 0.45 T_max would never be reached."""
    return {"t_min": f"{0.75 * sla.latency_s}s"} if policy == "drs" else {}


def _await_first_results(running: "Running", history: History) -> None:
    """Cold code and first executors are not what the demo is about: it begins a while after results come through."""
    deadline = time.monotonic() + _PATIENCE_S
    while not any(moment.completed for moment in history.moments[-1:]) and time.monotonic() < deadline:
        running.wait(_LOOK_S)


def _summarise(console: Console, history: History, sla: SLA) -> None:
    rate = history.success_rate(sla, PERIOD_S)
    peak = max((sum(moment.executors.values()) for moment in history.moments), default=0)
    spent_s, static_s = history.executor_seconds(), peak * history.duration_s()
    met = "not measured" if rate is None else f"met in {100 * rate:.1f} % of its windows"
    console.print(f"SLA {sla}: {met}", highlight=False)
    console.print(
        f"executor-seconds: {spent_s:,.0f}, the warm standby's included; "
        f"the {peak} executors of the peak, kept all the time, would have been "
        f"{static_s:,.0f}" + (f" ({100 * (1 - spent_s / static_s):.0f} % saved)" if static_s else ""),
        highlight=False,
    )
