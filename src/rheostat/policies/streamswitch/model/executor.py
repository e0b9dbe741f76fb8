"""Executor model: its capacity, the substreams it serves, and its health by measured and projected latency."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

import msgspec

from rheostat.policies.streamswitch.model.capacity import Capacity, Stress


class Substream(msgspec.Struct, frozen=True, gc=False):
    """λ^k, and the mean latency of what completed in the window; None when nothing did."""

    id: int
    arrival_rate: float
    latency_s: float | None = None


@dataclass(frozen=True, slots=True)
class ExecutorModel:
    """`latency_s` is l_i, of which the pause of the last move made `pause_s` at most. An executor of a stateless
    operator has no substreams, only its share of the arrivals."""

    id: int
    capacity: Capacity
    arrival_rate: float
    latency_s: float = 0.0
    substreams: tuple[Substream, ...] = ()
    pause_s: float = 0.0
    stress: Stress = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stress", self.capacity.stress(self.arrival_rate))

    @classmethod
    def serving(
        cls, number: int, capacity: Capacity, substreams: Iterable[Substream], latency_s: float = 0.0
    ) -> "ExecutorModel":
        """One whose arrivals are those of its substreams."""
        own = tuple(substreams)
        return cls(number, capacity, sum([substream.arrival_rate for substream in own]), latency_s, own)

    @property
    def projected_s(self) -> float:
        """L_i under its present load."""
        return self.stress[0]

    def without(self, moved: Iterable[int]) -> "ExecutorModel":
        gone = frozenset(moved)
        return self._with(tuple(each for each in self.substreams if each.id not in gone))

    def joined_by(self, arriving: Iterable[Substream]) -> "ExecutorModel":
        return self._with((*self.substreams, *arriving))

    def _with(self, substreams: tuple[Substream, ...]) -> "ExecutorModel":
        arrival_rate = sum([substream.arrival_rate for substream in substreams])
        return replace(self, arrival_rate=arrival_rate, substreams=substreams)


class Health(StrEnum):
    """The health of an executor, or of an operator as a whole."""

    GOOD = "good"
    MODERATE = "moderate"
    SEVERE = "severe"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`alert_s` is l, for the measured latency l_i; `latency_s` is L, for the projected one L_i.

    Both must be exceeded before anything is done (3.3).
    """

    alert_s: float
    latency_s: float

    def health(self, executor: ExecutorModel) -> Health:
        """Severe when both are exceeded, good when neither is. A pause alone makes no executor severe."""
        exceeded = executor.projected_s > self.latency_s
        if exceeded and executor.latency_s - executor.pause_s > self.alert_s:
            return Health.SEVERE
        return Health.MODERATE if exceeded or executor.latency_s > self.alert_s else Health.GOOD

    def overall(self, executors: Iterable[ExecutorModel]) -> Health:
        """Severe if any executor is, good if all are."""
        each = {self.health(executor) for executor in executors}
        if Health.SEVERE in each:
            return Health.SEVERE
        return Health.MODERATE if Health.MODERATE in each else Health.GOOD
