"""A topology on an embedded Spark cluster under a load and a policy, and what came of it; used by several benchmarks.

What a record costs is emulated by waiting, so that more executors than cores do more work.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rheostat.cli.demo import QUICK_TO_START
from rheostat.cli.history import History
from rheostat.cli.quiet import quiet_spark
from rheostat.load import Constant, Shape
from rheostat.loop.turn import Ruling
from rheostat.pipeline import Running, start
from rheostat.sla import SLA, Budget
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.topology import Topology
from rheostat.workloads.feeder import Feeder, Make

PERIOD_S = 2.0
PATIENCE_S = 180.0
WARM_UP_S = 20.0


@dataclass(frozen=True)
class Contender:
    """A policy with its options, and the warm standbys that it may count on, by operator."""

    policy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    standby: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """All that is the same for every contender. `topology` reads the folder it is given, which `make`'s records fill.

    `trickle` records a second come before the load begins, until the first results do and everything is warm.
    """

    topology: Callable[[Path], Topology]
    load: Shape
    make: Callable[[], Make]
    sla: SLA
    duration_s: float
    executors: Mapping[str, int]
    budget: Budget
    trickle: float = 5.0

    def run(
        self, cluster: EmbeddedCluster, contender: Contender, *, cooldown: str = "6s", alone_s: float = 0.0
    ) -> History:
        """What happened from the first moment of the load on; the policy may not act before `alone_s`."""
        history = History()
        with ExitStack() as ending:
            folder = ending.enter_context(_folder())
            feeder = Feeder(folder / "input", self.load, self.make())
            with quiet_spark(folder / "spark.log"):
                running = ending.enter_context(
                    start(
                        self.topology(folder / "input"),
                        sla=self.sla,
                        policy=contender.policy,
                        options=contender.options,
                        budget=self.budget,
                        executors=self.executors,
                        standby=contender.standby,
                        directory=folder / "run",
                        cluster=cluster,
                        settings=dict.fromkeys(_JAVA_OPTIONS, QUICK_TO_START),
                        period=PERIOD_S,
                        cooldown=cooldown,
                        listeners=[history],
                    )
                )
                running.controller.pause()
                with Feeder(folder / "input", Constant(self.trickle), self.make()):
                    _await_first_results(running, history)
            with feeder:
                running.wait(alone_s)
                running.controller.resume()
                running.wait(self.duration_s - alone_s)
        return history


@contextmanager
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster([Node("one", cores=16, memory="12g")]) as running:
        yield running


def compared(trial: Trial, contenders: Mapping[str, Contender], **how: Any) -> dict[str, History]:
    """The trial under each contender, one after the other on one cluster; prints their courses.

    `how` is what `Trial.run` can be told besides.
    """
    histories: dict[str, History] = {}
    with cluster() as nodes:
        for name, contender in contenders.items():
            histories[name] = trial.run(nodes, contender, **how)
            print(f"\n{name}")
            print_course(histories[name])
    return histories


def print_course(history: History, every_s: float = 10.0) -> None:
    """Latency, how long the oldest has waited, and executors over time; each decision when it was taken."""
    begun_s = history.moments[0].time_s
    next_s = 0.0
    for moment in history.moments:
        elapsed_s = moment.time_s - begun_s
        decided = {v.decision.reason: None for v in moment.verdicts if v.ruling is Ruling.ACCEPTED}
        if elapsed_s >= next_s or decided:
            next_s = elapsed_s + every_s
            latency = "    -" if moment.latency_s is None else f"{moment.latency_s:5.1f}"
            told = f"{_sizes(moment.executors)}  {'; '.join(decided)}"
            print(f"  {elapsed_s:5.0f} s {latency} s {moment.oldest_s:5.1f} s  {told}", flush=True)


def after(history: History, elapsed_s: float) -> History:
    """What is left without the first `elapsed_s`."""
    begun_s = history.moments[0].time_s
    return History([moment for moment in history.moments if moment.time_s - begun_s >= elapsed_s])


def print_score(policy: str, history: History, sla: SLA) -> None:
    rate = history.success_rate(sla, PERIOD_S)
    moves = sum(1 for _, verdict in history.decisions() if type(verdict.decision).__name__ == "Move")
    met = "-" if rate is None else f"{100 * rate:.1f} %"
    print(f"{policy:16}{met:>10}{history.executor_seconds():12,.0f}{len(history.decisions()):11}{moves:9}", flush=True)


def print_score_head() -> None:
    print(f"\n{'':16}{'SLA met':>10}{'executor-s':>12}{'decisions':>11}{'moves':>9}")


_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _await_first_results(running: Running, history: History) -> None:
    """Until results come through and every executor serves, and then some more: what is cold takes longer."""
    end_s = time.monotonic() + PATIENCE_S
    while not _has_results(history) or running.plant.reached(running.plan) != running.plan.pools.keys():
        if time.monotonic() > end_s:
            raise SystemExit(f"error: no results within {PATIENCE_S:.0f} s")
        running.wait(0.2)
    running.wait(WARM_UP_S)
    history.moments.clear()


def _has_results(history: History) -> bool:
    return any(moment.completed for moment in history.moments)


def _sizes(executors: Mapping[str, int]) -> str:
    return " ".join(f"{name} {count}" for name, count in executors.items())
