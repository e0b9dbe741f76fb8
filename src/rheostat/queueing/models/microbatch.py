"""Micro-batches started as soon as the one before has ended, as Structured Streaming does by default.

With c seconds of fixed cost a batch, and λ/μ seconds of work arriving each second for k executors, a batch
settles at D = c/(1 − ρ), ρ = λ/(kμ). A row waits half a batch for the next to start and then a whole one.
"""

import math
from collections.abc import Sequence

import numpy as np

from rheostat.errors import ConfigError
from rheostat.queueing.models.hyperbola import Hyperbolic

LATENCY_IN_BATCHES = 1.5
_LARGEST_COST_S = 1e12


class MicroBatch(Hyperbolic, frozen=True):
    """An operator run in micro-batches of cost c = `fixed_s` + `per_task_s` · tasks + `shared_s`/k.

    By default a batch has one task for each executor. Then each further executor also costs, and from k* =
    A + √(A² + c0·A/c1), A = λ/μ, it does harm. A stage with a fixed number of `tasks` (its state partitions)
    costs the same for any k, but cannot use more executors than it has tasks. `shared_s` is what the tasks of a batch
    take on executors beside their work: those of a stage with many tasks, on few executors, run one after the other.
    """

    fixed_s: float = 0.0
    per_task_s: float = 0.0
    tasks: int | None = None
    shared_s: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(0.0 <= cost_s <= _LARGEST_COST_S for cost_s in (self.fixed_s, self.per_task_s, self.shared_s)):
            raise ConfigError(
                f"batch costs {self.fixed_s!r} s + {self.per_task_s!r} s a task + {self.shared_s!r} s shared by the "
                f"executors must be from 0 to {_LARGEST_COST_S:g} s"
            )
        if self.fixed_s + self.per_task_s + self.shared_s == 0.0:
            raise ConfigError("a batch without any cost cannot be: give fixed_s or per_task_s above 0")
        if self.tasks is not None and self.tasks < 1:
            raise ConfigError(f"{self.tasks!r} tasks a batch: must be 1 or more, or None for one an executor")

    def cost_s(self, executors: int) -> float:
        """c: what a batch costs before its first row."""
        tasks, sharing = (executors, executors) if self.tasks is None else (self.tasks, min(executors, self.tasks))
        return self.fixed_s + self.per_task_s * tasks + self.shared_s / max(1, sharing)

    def batch_s(self, executors: int) -> float:
        """The duration D = c/(1 − ρ) that batches settle at; infinite when they grow for ever."""
        if executors < self.fewest():
            return math.inf
        return self.cost_s(executors) / (1.0 - self.utilisation(executors))

    def sojourn_s(self, executors: int) -> float:
        return LATENCY_IN_BATCHES * self.batch_s(executors)

    def fewest(self) -> float:
        fewest = super().fewest()
        return fewest if self.tasks is None or fewest <= self.tasks else math.inf

    def best(self, least: int = 1) -> float:
        best = super().best(least)
        return best if self.tasks is None else max(least, min(best, self.tasks))

    def floor_s(self, least: int = 1) -> float:
        best = self.best(least)
        return self.sojourn_s(int(best)) if best < math.inf else LATENCY_IN_BATCHES * self.fixed_s

    def utilisation(self, executors: int) -> float:
        return self.load() / (executors if self.tasks is None else min(executors, self.tasks))

    def hyperbola(self) -> tuple[float, float]:
        """(c0 + c1·k + s/k)/(1 − A/k) = c0 + 2·c1·A + (c0·A + c1·A² + s)/u + c1·u, in tuples of 1.5 batches each."""
        tuples = LATENCY_IN_BATCHES * self.arrival_rate
        load = self.load()
        if self.tasks is not None:
            return tuples * ((self.fixed_s + self.per_task_s * self.tasks) * load + self.shared_s), 0.0
        fall = load * (self.fixed_s + self.per_task_s * load) + self.shared_s
        return tuples * fall, tuples * self.per_task_s


def fitted_cost_s(
    tasks: Sequence[float], batch_s: Sequence[float], utilisation: Sequence[float]
) -> tuple[float, float]:
    """The c0 and c1, neither below 0, nearest in least squares to the costs c = D(1 − ρ) of measured batches."""
    n = np.asarray(tasks, dtype=np.float64)
    cost = np.asarray(batch_s, dtype=np.float64) * (1.0 - np.asarray(utilisation, dtype=np.float64))
    if cost.size == 0 or cost.shape != n.shape:
        raise ConfigError(f"{n.size} task counts for {cost.size} batches: give one for each of at least one batch")
    spread = float(np.sum((n - n.mean()) ** 2))
    slope = float(np.sum((n - n.mean()) * cost)) / spread if spread > 0.0 else 0.0
    intercept = float(cost.mean() - slope * n.mean())
    if slope < 0.0:
        return float(cost.mean()), 0.0
    if intercept < 0.0:
        return 0.0, float(n @ cost / (n @ n))
    return intercept, slope
