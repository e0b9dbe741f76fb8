"""Table II: the time DRS takes to compute and to measure, by the number of executors in its budget."""

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan
from rheostat.queueing import ExecutorAllocation, Network, Station, assign_processors, mmk
from rheostat.snapshot import Snapshot
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

PAPER_MS = {12: 0.083, 24: 0.158, 48: 0.323, 96: 0.665, 192: 1.250}
PAPER_MEASURING_MS = 0.100
_RATE = 13.0
_BUSY = {"extract": 2.3, "match": 3.6, "aggregate": 0.3}
"""Executors that each operator keeps busy. The paper does not state them, and 12 must suffice."""

_SNAPSHOTS = 20


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    repetitions = int(effort.choose(5_000, 500))
    computing_ms, measuring_ms = {}, {}
    for done, k_max in enumerate(PAPER_MS, start=1):
        computing_ms[k_max] = 1e3 * mean_time_s(partial(planned, k_max), repetitions)
        measure = measuring(planned(k_max))
        measuring_ms[k_max] = 1e3 * mean_time_s(measure, repetitions // 100) / _SNAPSHOTS
        progress(done / len(PAPER_MS))
    return ReproductionResult(
        columns=("K_max", "computing: paper (ms)", "here (ms)", "paper / here", "measuring: paper (ms)", "here (ms)"),
        rows=tuple(
            (k, PAPER_MS[k], computing_ms[k], PAPER_MS[k] / computing_ms[k], PAPER_MEASURING_MS, measuring_ms[k])
            for k in PAPER_MS
        ),
        claims=_claims(computing_ms, measuring_ms),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, computing_ms, measuring_ms),
    )


def planned(k_max: int) -> ExecutorAllocation:
    """The computation of one turn: the network from its rates, and the best use of `k_max` executors."""
    stations = tuple(Station(name, mmk(_RATE, _RATE / busy)) for name, busy in _BUSY.items())
    return assign_processors(Network(stations, _RATE), k_max)


def measuring(allocation: ExecutorAllocation) -> Callable[[], None]:
    """A function that computes rates from a series of snapshots with the executors of `allocation`."""
    topology = _chain()
    plan = Plan.initial(topology, allocation.by_name())
    snapshots = _recorded(topology, plan)

    def measure() -> None:
        measurer = Measurer(topology)
        for snapshot in snapshots:
            measurer.update(snapshot, plan)

    return measure


def mean_time_s(call: Callable[[], object], repetitions: int) -> float:
    """Mean processor time of a call in seconds, as the paper reports it."""
    start_s = process_time()
    for _ in range(repetitions):
        call()
    return (process_time() - start_s) / repetitions


def _chain() -> Topology:
    names = list(_BUSY)
    parts = [Operator(name, inputs=before) for before, name in zip(["frames", *names], names, strict=False)]
    return Topology("logo detection", [Source("frames"), *parts])


def _recorded(topology: Topology, plan: Plan) -> list[Snapshot]:
    plant = FakePlant(topology, arrival_rate=_RATE, service_rate={n: _RATE / b for n, b in _BUSY.items()}, plan=plan)
    snapshots = []
    for turn in range(_SNAPSHOTS):
        plant.clock.wait_until(60.0 * turn)
        snapshots.append(plant.observe())
    return snapshots


def _claims(computing_ms: dict[int, float], measuring_ms: dict[int, float]) -> tuple[Claim, ...]:
    slowest = max(computing_ms.values())
    growth = computing_ms[192] / computing_ms[12]
    return (
        Claim(
            "computing an allocation takes at most one or two milliseconds", slowest < 1.25, f"{slowest:.3g} ms at most"
        ),
        Claim(
            "computing time grows no faster than K_max",
            growth < 16,
            f"16 times the executors take {growth:.1f} times as long",
        ),
        Claim(
            "measuring takes the same time for any K_max",
            measuring_ms[192] < 2 * measuring_ms[12],
            f"{measuring_ms[12]:.2g} ms for 12 executors, {measuring_ms[192]:.2g} ms for 192",
            why="A snapshot has counters for each executor, and the table shows a time that grows with them; in DRS it "
            "grows with the tasks, whose number is fixed when a topology starts.",
        ),
    )


_NOTE = (
    "DRS adds executors one by one; here the search is by gain, which saves more the more executors there are. "
    "Measuring time grows with the executors because a snapshot has counters for each; in DRS it grows with the tasks, "
    "whose number is fixed when a topology starts. Times are processor times, averaged over many calls on the machine "
    "that wrote this page."
)


def _draw(figure: Any, computing_ms: dict[int, float], measuring_ms: dict[int, float]) -> None:
    axes = figure.subplots()
    axes.loglog(list(PAPER_MS), list(PAPER_MS.values()), "o--", color="tab:gray", label="computing, paper")
    axes.loglog(list(computing_ms), list(computing_ms.values()), "o-", label="computing, here")
    axes.axhline(PAPER_MEASURING_MS, linestyle="--", color="tab:olive", label="measuring, paper")
    axes.loglog(list(measuring_ms), list(measuring_ms.values()), "s-", color="tab:green", label="measuring, here")
    axes.set_xticks(list(PAPER_MS), [str(k) for k in PAPER_MS], minor=False)
    axes.minorticks_off()
    axes.set_xlabel("K_max, executors")
    axes.set_ylabel("milliseconds")
    axes.legend()
    axes.grid(alpha=0.3)


REPRODUCTIONS = (
    Reproduction(
        name="drs-table2",
        figure="Table II",
        title="time of computing and measuring",
        run=run,
        setting="A chain of three operators that keep 2.3, 3.6 and 0.3 executors busy (the paper states no rates), "
        "M/M/k. Computing includes building the network from the measured rates.",
    ),
)
