"""What the executors measured of an operator on single records: how long each task worked, and every n-th record."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pyspark import AccumulatorParam, SparkContext
from pyspark.accumulators import Accumulator

from rheostat.spark.query.grouping.cost_sketch import RecentCosts

Sample = tuple[int, Any, float]

_SAMPLES_KEPT = 1000
"""Of each task and of what the driver has not collected yet: memory stays bounded, whoever collects or does not."""


class Work(NamedTuple):
    """Records, and the time they took."""

    records: int
    busy_s: float

    def plus(self, other: "Work") -> "Work":
        return Work(self.records + other.records, self.busy_s + other.busy_s)

    def minus(self, other: "Work") -> "Work":
        return Work(self.records - other.records, self.busy_s - other.busy_s)


@dataclass(slots=True)
class Timings:
    """What the executors measured, cumulative; `samples` are the last (task, value, seconds) of records timed alone.

    `sampled` counts all samples ever, so that whoever looks again knows how many are new. `tasks` has the work by
    the task's number in its batch, `costs` what values cost if that was learned.
    """

    records: int = 0
    busy_s: float = 0.0
    sampled: int = 0
    sampled_s: float = 0.0
    sampled_s2: float = 0.0
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES_KEPT))
    tasks: dict[int, Work] = field(default_factory=dict)
    costs: RecentCosts | None = None

    def add(self, other: "Timings") -> "Timings":
        self.records += other.records
        self.busy_s += other.busy_s
        self.sampled += other.sampled
        self.sampled_s += other.sampled_s
        self.sampled_s2 += other.sampled_s2
        self.samples.extend(other.samples)
        # Somebody may be reading the old one.
        self.tasks = {**self.tasks, **{task: work.plus(self.work(task)) for task, work in other.tasks.items()}}
        self.learn(other.costs)
        return self

    def work(self, task: int) -> Work:
        return self.tasks.get(task, Work(0, 0.0))

    def learn(self, costs: RecentCosts | None) -> None:
        self.costs = costs if self.costs is None else self.costs.and_then(costs)

    def done(self, task: int, records: int, busy_s: float) -> None:
        self.records += records
        self.busy_s += busy_s
        self.tasks[task] = self.work(task).plus(Work(records, busy_s))

    def sample(self, task: int, value: Any, seconds: float) -> None:
        self.sampled += 1
        self.sampled_s += seconds
        self.sampled_s2 += seconds * seconds
        self.samples.append((task, value, seconds))


class TimingsSink(Protocol):
    """Where a task leaves what it measured."""

    def add(self, timings: Timings) -> None: ...


class Stopwatch:
    """Collects the timings of one operator from all executors. A repeated task counts again: it was work again."""

    def __init__(self, context: SparkContext) -> None:
        self._sum: Accumulator[Timings] = context.accumulator(Timings(), _TimingsSum())

    def add(self, timings: Timings) -> None:
        """Called in the executors."""
        self._sum.add(timings)

    @property
    def timings(self) -> Timings:
        """On the driver: everything that finished tasks have sent so far."""
        return self._sum.value


class _TimingsSum(AccumulatorParam[Timings]):
    def zero(self, value: Timings) -> Timings:
        return Timings()

    def addInPlace(self, value1: Timings, value2: Timings) -> Timings:  # noqa: N802
        return value1.add(value2)
