"""Grouping benchmark: how evenly groupings spread records, the effect on latency, and the processor time they take.

Run with `python -m bench.grouping`. Values are drawn from Zipf 1.5 and cost 1 to 64 units in random order, as in the
OSG paper. Makespans are compared with a lower bound: the mean load, or the longest record if that is more. The aims:
OSG closer to it than round robin, batch-greedy closest; a row assigned in less than a microsecond.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from rheostat.grouping import (
    BatchGreedy,
    CostSketch,
    KeyGrouping,
    LoadAware,
    OsgTask,
    RoundRobin,
    Scheduler,
    sketch_hashes,
)
from rheostat.grouping.grouping import RecordGrouping
from rheostat.grouping.least_loaded import to_the_least_loaded
from rheostat.load import Constant
from rheostat.load.skew import zipf
from rheostat.sim.model import Batches, OperatorModel, Osg, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant
from rheostat.topology import Operator, Source, Topology

VALUES, EXECUTORS, SEEDS = 4096, 8, 20
COST = np.random.default_rng(0).permutation(np.repeat(np.arange(1.0, 65.0), VALUES // 64))
WEIGHTS = zipf(VALUES, 1.5)


def drawn(rows: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(VALUES, size=rows, p=WEIGHTS)


def learned(rng: np.random.Generator, records: int = 20_000) -> CostSketch:
    """The sketch that executors have learned after `records` records."""
    sketch = CostSketch(sketch_hashes(0.05, 0.05, rng))
    values = drawn(records, rng)
    sketch.learn(values, COST[values])
    return sketch


def running(rng: np.random.Generator) -> Scheduler:
    """An OSG scheduler that knows costs and has synchronised."""
    scheduler, sketch = Scheduler(EXECUTORS), learned(rng)
    for task in range(EXECUTORS):
        scheduler.receive_sketch(task, sketch)
    values = drawn(EXECUTORS, rng)
    chosen = scheduler.assign(values)
    for request in scheduler.take_requests():
        task = OsgTask(sketch.hashes)
        task.completed(values[chosen == request.task], COST[values[chosen == request.task]])
        scheduler.receive_reply(task.reply(request))
    scheduler.loads_s -= scheduler.loads_s
    return scheduler


class Exact:
    def seconds(self, values: np.ndarray) -> np.ndarray:
        return COST[values]


class ExactGreedy:
    """Online assignment to the least loaded executor, with exact times."""

    executors = EXECUTORS

    def assign(self, values: np.ndarray) -> np.ndarray:
        return to_the_least_loaded(np.zeros(EXECUTORS), np.broadcast_to(COST[values], (EXECUTORS, len(values))))[0]


def half_loaded() -> LoadAware:
    grouping = LoadAware(EXECUTORS, 30.0)
    grouping.read(np.linspace(0.4, 0.6, EXECUTORS).tolist(), [0.01] * EXECUTORS)
    return grouping


AWARE = "load-aware"
GROUPINGS: dict[str, Callable[[np.random.Generator], RecordGrouping]] = {
    "round robin": lambda rng: RoundRobin(EXECUTORS),
    "by key": lambda rng: KeyGrouping(EXECUTORS),
    AWARE: lambda rng: half_loaded(),
    "OSG": running,
    "greedy, exact times": lambda rng: ExactGreedy(),
    "batch-greedy, sketches": lambda rng: BatchGreedy(EXECUTORS, learned(rng)),
    "batch-greedy, exact times": lambda rng: BatchGreedy(EXECUTORS, Exact()),
}


def ratio(grouping: RecordGrouping, values: np.ndarray) -> float:
    """Makespan divided by its lower bound."""
    times = COST[values]
    loads = np.bincount(grouping.assign(values), times, EXECUTORS)
    return float(loads.max() / max(times.sum() / EXECUTORS, times.max()))


def print_makespans(sizes: tuple[int, ...] = (100, 1000, 10_000)) -> None:
    print(f"makespan / lower bound, {EXECUTORS} executors, mean of {SEEDS} batches")
    print(f"{'rows per batch':<28}" + "".join(f"{size:>10,}" for size in sizes))
    for name, make in GROUPINGS.items():
        if name == AWARE:
            continue  # it starts from unequal loads
        means = []
        for size in sizes:
            rngs = [np.random.default_rng(seed) for seed in range(SEEDS)]
            means.append(
                np.mean(
                    [ratio(make(rng), drawn(size, np.random.default_rng(1000 + seed))) for seed, rng in enumerate(rngs)]
                )
            )
        print(f"{name:<28}" + "".join(f"{mean:>10.3f}" for mean in means))


def print_costs(rows: int = 100_000, repeats: int = 3) -> None:
    print(f"\nprocessor time per row, best of {repeats} batches of {rows:,}")
    values = drawn(rows, np.random.default_rng(1))
    for name, make in GROUPINGS.items():
        grouping, best_s = make(np.random.default_rng(2)), np.inf
        for _ in range(repeats):
            start_s = time.process_time()
            grouping.assign(values)
            best_s = min(best_s, time.process_time() - start_s)
        print(f"{name:<28}{1e9 * best_s / rows:>8.0f} ns")


MEAN_S = 0.01
"""Mean service time of a record in the simulator."""


def latency_s(grouping: str, load: float, seed: int, *, senders: int = 1, values: int = 512, **more: Any) -> float:
    """Mean sojourn time at a simulated operator behind `senders` executors, in the second half of 20 minutes."""
    weights, cost = zipf(values, 1.5), COST[:values]
    scale_s = MEAN_S / float(weights @ cost)
    service = Service(mean=scale_s, distribution="fixed", cost_by_value=tuple(cost.tolist()))
    models = {
        "send": OperatorModel(service=Service(mean=1e-6, distribution="fixed"), executors=senders),
        "op": OperatorModel(service=service, executors=EXECUTORS, **{"grouping": grouping, **more}),
    }
    source = SourceModel(Constant(load * EXECUTORS / MEAN_S), weights=weights)
    topology = Topology("one", [Source("in"), Operator("send", inputs="in"), Operator("op", inputs="send")])
    plant = SimPlant(SimModel(topology, {"in": source}, models), np.random.default_rng(seed))
    plant.cluster.advance(600.0)
    before = plant.cluster.state.operators[1].copy()
    plant.cluster.advance(1200.0)
    row = plant.cluster.state.operators[1]
    return float((row.latency_sum - before.latency_sum) / (row.completed - before.completed))


def mean_latency_s(grouping: str, load: float, seeds: int, **more: Any) -> float:
    return float(np.mean([latency_s(grouping, load, seed, **more) for seed in range(seeds)]))


def print_latencies(loads: tuple[float, ...] = (0.5, 0.7, 0.9), seeds: int = 3) -> None:
    print(f"\nmean completion time in the simulator, in service times, {EXECUTORS} executors, {seeds} seeds")
    print(f"{'utilisation':<28}" + "".join(f"{load:>10.0%}" for load in loads))
    for grouping in ("round-robin", "random", "load-aware", "osg"):
        means = [mean_latency_s(grouping, load, seeds) / MEAN_S for load in loads]
        print(f"{grouping:<28}" + "".join(f"{mean:>10.2f}" for mean in means))


def print_senders(counts: tuple[int, ...] = (1, 2, 4, 8), load: float = 0.8, seeds: int = 3) -> None:
    """OSG is compared with senders that each use their own round robin and know nothing of each other. A round robin
    that they share would need a central component that sees every record."""
    print(f"\nthe same at {load:.0%} behind several senders, each of which schedules its own records")
    print(f"{'senders':<28}" + "".join(f"{count:>10}" for count in counts))
    groupings = {
        "round robin per sender": Osg(window=10**9),
        "OSG": Osg(),
    }
    for name, osg in groupings.items():
        settings = [msgspec.structs.replace(osg, schedulers=count) for count in counts]
        means = [mean_latency_s("osg", load, seeds, senders=it.schedulers, osg=it) / MEAN_S for it in settings]
        print(f"{name:<28}" + "".join(f"{mean:>10.2f}" for mean in means))
    shared = mean_latency_s("round-robin", load, seeds) / MEAN_S
    print(f"{'shared round robin':<28}" + "".join(f"{shared:>10.2f}" for _ in counts))


def print_batches(loads: tuple[float, ...] = (0.5, 0.7, 0.9), seeds: int = 3) -> None:
    """Batches with an overhead of 200 ms; in parentheses the latency relative to round robin."""
    print(f"\nmean completion time in micro-batches, seconds, {EXECUTORS} executors, {seeds} seeds")
    print(f"{'utilisation':<28}" + "".join(f"{load:>16.0%}" for load in loads))
    in_batches = {"queues": "batches", "batches": Batches(fixed="200ms", per_task=0)}
    base: list[float] = []
    for grouping in ("round-robin", "osg", "batch-greedy"):
        means = [mean_latency_s(grouping, load, seeds, **in_batches) for load in loads]
        base = base or means
        cells = (f"{mean:>8.3f} ({mean / first:>4.0%})" for mean, first in zip(means, base, strict=True))
        print(f"{grouping:<28}" + "".join(f"{cell:>16}" for cell in cells))


def main() -> None:
    print_makespans()
    print_costs()
    print_latencies()
    print_senders()
    print_batches()


if __name__ == "__main__":
    main()
