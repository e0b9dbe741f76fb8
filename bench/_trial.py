"""Trial: a topology on an embedded Spark cluster under a load and a policy; shared by several benchmarks.

The cost of a record is emulated by sleeping, so that more executors than cores can do more work.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rheostat.cli.run_history import RunHistory
from rheostat.experiments.on_spark.shared_cluster import cluster_for_a_run
from rheostat.load import Constant, Shape
from rheostat.loop.controller import Listener
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling
from rheostat.pipeline import Pipeline, start
from rheostat.plan import Plan
from rheostat.sla import SLA, Budget
from rheostat.spark.act.cluster_view import RESERVED_EXECUTORS
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.spark.target import FAST_START_SETTINGS, SparkTarget
from rheostat.topology import Topology
from rheostat.workloads.feeder import Feeder, MakeRecord

PERIOD_S = 2.0
FIRST_RESULTS_TIMEOUT_S = 180.0
WARM_UP_S = 20.0


@dataclass(frozen=True)
class Contender:
    """A policy with its options, and its warm standby executors by operator."""

    policy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    standby: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """Everything that is the same for all contenders. `topology` reads the given folder, `make` makes its records.

    `budget` is for the pools; the executor of the sources comes on top.

    Before the load starts there are `trickle` records a second, until the first results arrive and executors are warm.
    """

    topology: Callable[[Path], Topology]
    load: Shape
    make: Callable[[], MakeRecord]
    sla: SLA
    duration_s: float
    executors: Mapping[str, int]
    budget: Budget
    trickle: float = 5.0

    def run(
        self,
        cluster: EmbeddedCluster,
        contender: Contender,
        *,
        cooldown: str = "6s",
        observe_only_s: float = 0.0,
        listeners: Sequence[Listener] = (),
    ) -> RunHistory:
        """The history from the start of the load; the policy may not act before `observe_only_s`."""
        history = RunHistory()
        with ExitStack() as stack:
            folder = stack.enter_context(_folder())
            topology = self.topology(folder / "input")
            feeder = Feeder(folder / "input", self.load, self.make())
            with spark_output_to(folder / "spark.log"):
                running = stack.enter_context(
                    start(
                        topology,
                        sla=self.sla,
                        policy=contender.policy,
                        options=contender.options,
                        budget=replace(self.budget, total=self.budget.total and self.budget.total + RESERVED_EXECUTORS),
                        plan=Plan.initial(topology, self.executors, standby=contender.standby),
                        directory=folder / "run",
                        on=SparkTarget(cluster=cluster, settings=FAST_START_SETTINGS),
                        loop=LoopOptions(PERIOD_S, cooldown=cooldown),
                        listeners=[history, *listeners],
                    )
                )
                running.controller.pause()
                with Feeder(folder / "input", Constant(self.trickle), self.make()):
                    _await_first_results(running, history)
            with feeder:
                running.wait(observe_only_s)
                running.controller.resume()
                running.wait(self.duration_s - observe_only_s)
        return history


def compare(trial: Trial, contenders: Mapping[str, Contender], **settings: Any) -> dict[str, RunHistory]:
    """Run the trial with each contender, one after the other on one cluster, and print their timelines.

    `settings` are further arguments of `Trial.run`.
    """
    histories: dict[str, RunHistory] = {}
    with cluster_for_a_run() as nodes:
        for name, contender in contenders.items():
            histories[name] = trial.run(nodes, contender, **settings)
            print(f"\n{name}")
            print_timeline(histories[name])
    return histories


def print_timeline(history: RunHistory, every_s: float = 10.0) -> None:
    """Latency, age of the oldest record in the backlog, and executors over time; each decision at its time."""
    start_s = history.turns[0].time_s
    next_s = 0.0
    for turn in history.turns:
        elapsed_s = turn.time_s - start_s
        decided = {v.decision.reason: None for v in turn.verdicts if v.ruling is Ruling.ACCEPTED}
        if elapsed_s >= next_s or decided:
            next_s = elapsed_s + every_s
            latency = "    -" if turn.latency_s is None else f"{turn.latency_s:5.1f}"
            line = f"{_sizes(turn.executors)}  {'; '.join(decided)}"
            print(f"  {elapsed_s:5.0f} s {latency} s {turn.oldest_s:5.1f} s  {line}", flush=True)


def after(history: RunHistory, elapsed_s: float) -> RunHistory:
    """The history without its first `elapsed_s`."""
    start_s = history.turns[0].time_s
    return RunHistory([turn for turn in history.turns if turn.time_s - start_s >= elapsed_s])


def print_score(policy: str, history: RunHistory, sla: SLA) -> None:
    rate = history.success_rate(sla, PERIOD_S)
    moves = sum(1 for _, verdict in history.decisions() if type(verdict.decision).__name__ == "Move")
    met = "-" if rate is None else f"{100 * rate:.1f} %"
    print(f"{policy:16}{met:>10}{history.executor_seconds():12,.0f}{len(history.decisions()):11}{moves:9}", flush=True)


def print_score_header() -> None:
    print(f"\n{'':16}{'SLA met':>10}{'executor-s':>12}{'decisions':>11}{'moves':>9}")


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _await_first_results(running: Pipeline, history: RunHistory) -> None:
    """Wait for the first results and for all executors, and then until they are warm."""
    end_s = time.monotonic() + FIRST_RESULTS_TIMEOUT_S
    while not _has_results(history) or running.plant.reached(running.plan) != running.plan.pools.keys():
        if time.monotonic() > end_s:
            raise SystemExit(f"error: no results within {FIRST_RESULTS_TIMEOUT_S:.0f} s")
        running.wait(0.2)
    running.wait(WARM_UP_S)
    history.turns.clear()


def _has_results(history: RunHistory) -> bool:
    return any(turn.completed for turn in history.turns)


def _sizes(executors: Mapping[str, int]) -> str:
    return " ".join(f"{name} {count}" for name, count in executors.items())
