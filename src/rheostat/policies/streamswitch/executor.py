"""An executor as the diagnosis sees it: what it is trusted with, what it serves, how it fares."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from rheostat.policies.streamswitch.capacity import Capacity, Stress


class Substream(msgspec.Struct, frozen=True, gc=False):
    """λ^k, and the mean latency of what completed in the window; None when nothing did."""

    id: int
    arrival_rate: float
    latency_s: float | None = None


@dataclass(frozen=True, slots=True)
class Executor:
    """`latency_s` is l_i. An executor of a stateless operator has no substreams, only its share of the arrivals."""

    id: int
    capacity: Capacity
    arrival_rate: float
    latency_s: float = 0.0
    substreams: tuple[Substream, ...] = ()
    stress: Stress = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stress", self.capacity.stress(self.arrival_rate))

    @classmethod
    def serving(
        cls, number: int, capacity: Capacity, substreams: Iterable[Substream], latency_s: float = 0.0
    ) -> "Executor":
        """One whose arrivals are those of its substreams."""
        own = tuple(substreams)
        return cls(number, capacity, sum([substream.arrival_rate for substream in own]), latency_s, own)

    @property
    def projected_s(self) -> float:
        """L_i as things are."""
        return self.stress[0]

    def without(self, moved: Iterable[int]) -> "Executor":
        gone = frozenset(moved)
        return self._with(tuple(each for each in self.substreams if each.id not in gone))

    def joined_by(self, arriving: Iterable[Substream]) -> "Executor":
        return self._with((*self.substreams, *arriving))

    def _with(self, substreams: tuple[Substream, ...]) -> "Executor":
        arrival_rate = sum([substream.arrival_rate for substream in substreams])
        return replace(self, arrival_rate=arrival_rate, substreams=substreams)
