"""Allocation benchmark: time to allocate executors, compared with DRS's Table II and with adding them one by one.

Run with `python -m bench.allocation`. Times depend on the machine; the ratios to the plain algorithm, measured in the
same run, are more meaningful.
"""

import math
import random
from collections.abc import Callable
from functools import partial
from time import perf_counter
from timeit import repeat

from rich.console import Console
from rich.table import Table

from rheostat.queueing import (
    ExecutorAllocation,
    GIGk,
    MicroBatch,
    Network,
    QueueModel,
    Station,
    assign_processors,
    min_processors,
    mm1,
    mmk,
)

TABLE_II_US = {12: 83.0, 24: 158.0, 48: 323.0, 96: 665.0, 192: 1250.0}
"""DRS Table II, scaling: microseconds for three operators, by K_max."""

SIZES = [(100, 10_000), (1_000, 100_000), (10_000, 1_000_000)]
MODELS: dict[str, Callable[[float], QueueModel]] = {
    "M/M/k": lambda load: mmk(10.0 * load, 10.0),
    "GI/G/k": lambda load: GIGk(10.0 * load, 10.0, 2.0, 0.5),
    "M/M/1": lambda load: mm1(10.0 * load, 10.0),
    "micro-batch": lambda load: MicroBatch(10.0 * load, 10.0, 0.2, 0.0005),
}
UTILISATION = 0.8
PLAIN_EVALUATIONS = 2_000


def main() -> None:
    console = Console()
    console.print(three_operators())
    console.print(many_operators())


def three_operators() -> Table:
    """A chain like DRS's logo detection, light enough to run on 12 executors."""
    table = Table(title="AssignProcessors, 3 operators, microseconds", caption="best of many short runs")
    for column in (
        "K_max",
        "DRS Table II",
        "here",
        "DRS / here",
        "with building the network",
        "one by one",
        "one by one / here",
    ):
        table.add_column(column, justify="right")
    network = chain()
    here = best_times_s({k: partial(assign_processors, network, k) for k in TABLE_II_US})
    built = best_times_s({k: partial(build_and_assign, k) for k in TABLE_II_US})
    plain = best_times_s({k: partial(one_by_one, network, k) for k in TABLE_II_US}, runs=2)
    for k_max, paper_us in TABLE_II_US.items():
        table.add_row(
            str(k_max),
            f"{paper_us:.0f}",
            f"{1e6 * here[k_max]:.1f}",
            f"{1e-6 * paper_us / here[k_max]:.1f}x",
            f"{1e6 * built[k_max]:.1f}",
            f"{1e6 * plain[k_max]:.0f}",
            f"{plain[k_max] / here[k_max]:.0f}x",
        )
    return table


def many_operators() -> Table:
    """Loads drawn from a Pareto distribution; the time of the plain algorithm is extrapolated from a few steps."""
    table = Table(title=f"Many operators at {UTILISATION:.0%} utilisation, seconds")
    for column in ("operators", "executors", "model", "AssignProcessors", "MinProcessors", "one by one*", "ratio"):
        table.add_column(column, justify="right")
    for operators, executors in SIZES:
        for name, model in MODELS.items():
            table.add_row(
                f"{operators:,}", f"{executors:,}", name, *times_of(skewed(operators, executors, model), executors)
            )
    table.caption = "one run each; * extrapolated from a few steps"
    return table


def times_of(network: Network, executors: int) -> list[str]:
    start = perf_counter()
    allocation = assign_processors(network, executors)
    assigned = perf_counter()
    latency_s = 1.001 * allocation.expected_latency_s()
    known = perf_counter()
    min_processors(network, latency_s)
    least_s, assigned_s = perf_counter() - known, assigned - start
    plain_s = extrapolated_one_by_one_s(network, allocation.total())
    return [f"{assigned_s:.3f}", f"{least_s:.3f}", f"{plain_s:,.1f}", f"{plain_s / assigned_s:,.0f}x"]


def build_and_assign(k_max: int) -> ExecutorAllocation:
    return assign_processors(chain(), k_max)


def chain() -> Network:
    return Network(
        (
            Station("extract", mmk(13.0, 13.0 / 2.3)),
            Station("match", mmk(13.0, 13.0 / 3.6)),
            Station("aggregate", mmk(13.0, 13.0 / 0.3)),
        ),
        13.0,
    )


def skewed(operators: int, executors: int, model: Callable[[float], QueueModel]) -> Network:
    draw = random.Random(1)
    loads = [draw.paretovariate(1.5) for _ in range(operators)]
    scale = UTILISATION * executors / sum(loads)
    return Network(tuple(Station(f"o{i}", model(load * scale)) for i, load in enumerate(loads)), 10.0)


def one_by_one(network: Network, k_max: int, steps: int | None = None) -> list[int]:
    """DRS's Algorithm 1 as published: each step evaluates the model of every operator twice."""
    models = [station.model for station in network.stations]
    executors = [int(model.fewest()) for model in models]
    spare = k_max - sum(executors)
    for _ in range(spare if steps is None else min(steps, spare)):
        gains = [m.arrival_rate * (m.sojourn_s(k) - m.sojourn_s(k + 1)) for m, k in zip(models, executors, strict=True)]
        executors[gains.index(max(gains))] += 1
    return executors


def extrapolated_one_by_one_s(network: Network, k_max: int) -> float:
    spare = k_max - sum(int(station.model.fewest()) for station in network.stations)
    steps = max(1, PLAIN_EVALUATIONS // len(network.stations))
    start = perf_counter()
    one_by_one(network, k_max, steps)
    return (perf_counter() - start) * spare / steps


def best_times_s(calls: dict[int, Callable[[], object]], rounds: int = 40, runs: int = 60) -> dict[int, float]:
    """The shortest mean of a few calls of each kind; some of them run undisturbed even on a busy machine."""
    best = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for kind, call in calls.items():
            best[kind] = min(best[kind], *(repeat(call, number=3, repeat=runs)))
    return {kind: time_s / 3 for kind, time_s in best.items()}


if __name__ == "__main__":
    main()
