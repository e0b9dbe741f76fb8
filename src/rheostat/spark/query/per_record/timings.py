"""Timings: what the executors measure of an operator on single records, in total, by task and for every n-th record."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pyspark import AccumulatorParam, SparkContext
from pyspark.accumulators import Accumulator

from rheostat.spark.query.grouping.recent_costs import RecentCosts

Sample = tuple[int, Any, float]

_SAMPLES_KEPT = 1000
"""Per task, and on the driver until they are read: memory stays bounded even if nobody reads them."""


class Work(NamedTuple):
    """A number of records, and the time they took."""

    records: int
    busy_s: float

    def plus(self, other: "Work") -> "Work":
        return Work(self.records + other.records, self.busy_s + other.busy_s)

    def minus(self, other: "Work") -> "Work":
        return Work(self.records - other.records, self.busy_s - other.busy_s)


@dataclass(slots=True)
class Timings:
    """What the executors measured, cumulative. `samples` has (task, value, seconds) of the last records timed alone.

    `sampled` counts all samples ever, which shows how many are new since the last look. `tasks` has the work by the
    task's number in its batch, `costs` the costs of values if they are learned.
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
        # Another thread may be reading the old one.
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
    """Takes what a task measured."""

    def add(self, timings: Timings) -> None: ...


class Stopwatch:
    """Collects the timings of one operator from all executors. A repeated task counts again, since it worked again."""

    def __init__(self, context: SparkContext) -> None:
        self._sum: Accumulator[Timings] = context.accumulator(Timings(), _TimingsSum())

    def add(self, timings: Timings) -> None:
        """Called in the executors."""
        self._sum.add(timings)

    @property
    def timings(self) -> Timings:
        """On the driver: the sum over all finished tasks."""
        return self._sum.value


class _TimingsSum(AccumulatorParam[Timings]):
    def zero(self, value: Timings) -> Timings:
        return Timings()

    def addInPlace(self, value1: Timings, value2: Timings) -> Timings:  # noqa: N802
        return value1.add(value2)
