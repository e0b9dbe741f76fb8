"""Confidence intervals of simulation results: batch means of one long run.

The first of the batches is left out as warm-up; the others are long enough to be nearly independent. Intervals
are so wide (one in 100,000 misses) that all tests together fail by chance less than once in 1,000 runs; `narrow`
makes sure that they still say something.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from rheostat.sim.plant import SimPlant

CONFIDENCE = 1 - 1e-5

Totals = Callable[[SimPlant], tuple[float, float]]
"""A running sum and the count to divide it by."""


@dataclass(frozen=True)
class Interval:
    mean: float
    half_width: float

    def __contains__(self, value: float) -> bool:
        return abs(value - self.mean) <= self.half_width

    @property
    def relative(self) -> float:
        return self.half_width / abs(self.mean)

    def minus(self, other: "Interval") -> "Interval":
        return Interval(self.mean - other.mean, math.hypot(self.half_width, other.half_width))


def interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Student's interval for the mean of independent samples."""
    values = np.asarray(samples, dtype=float)
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return Interval(float(values.mean()), error * float(stats.t.ppf(0.5 + confidence / 2, len(values) - 1)))


def batch_means(plant: SimPlant, totals: dict[str, Totals], batch_s: float, batches: int = 30) -> dict[str, Interval]:
    """The interval of each ratio, from `batches` batches of `batch_s` after one for warming up."""
    means: dict[str, list[float]] = {name: [] for name in totals}
    plant.cluster.advance(plant.cluster.now_s + batch_s)
    before = {name: read(plant) for name, read in totals.items()}
    for _ in range(batches):
        plant.cluster.advance(plant.cluster.now_s + batch_s)
        after = {name: read(plant) for name, read in totals.items()}
        for name in totals:
            means[name].append((after[name][0] - before[name][0]) / (after[name][1] - before[name][1]))
        before = after
    return {name: interval(values) for name, values in means.items()}


def latency(operator: str = "op") -> Totals:
    def read(plant: SimPlant) -> tuple[float, float]:
        row = plant.cluster.state.operators[plant.cluster.position[operator]]
        return float(row.latency_sum), float(row.completed)

    return read


def squared_latency(operator: str = "op") -> Totals:
    def read(plant: SimPlant) -> tuple[float, float]:
        row = plant.cluster.state.operators[plant.cluster.position[operator]]
        return float(row.latency_squares), float(row.completed)

    return read


def waiting(operator: str = "op") -> Totals:
    """Latency without service."""

    def read(plant: SimPlant) -> tuple[float, float]:
        row = plant.cluster.state.operators[plant.cluster.position[operator]]
        return float(row.latency_sum - row.service_sum), float(row.completed)

    return read


def end_to_end(plant: SimPlant) -> tuple[float, float]:
    world = plant.cluster.state.world[0]
    return float(world.latency_sum), float(world.left)


def lost_share(operator: str = "op") -> Totals:
    def read(plant: SimPlant) -> tuple[float, float]:
        row = plant.cluster.state.operators[plant.cluster.position[operator]]
        return float(row.lost), float(row.arrived)

    return read


def late_share(plant: SimPlant) -> tuple[float, float]:
    world = plant.cluster.state.world[0]
    return float(world.late), float(world.left)
