"""Strategy: substreams that go from one executor to one other (the unit strategy of StreamSwitch 3.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rheostat.policies.streamswitch.model.executor import ExecutorModel, Substream


@dataclass(frozen=True, slots=True)
class Strategy:
    """x = (K, s, d). `source_leaves` makes it a scale-in; a target that does not exist yet makes it a scale-out."""

    substreams: tuple[int, ...]
    source: int
    target: int
    source_leaves: bool = False

    @classmethod
    def of(cls, moved: Iterable[Substream], source: int, target: int, *, source_leaves: bool = False) -> "Strategy":
        return cls(tuple(sorted(each.id for each in moved)), source, target, source_leaves)

    def applied(self, executors: Sequence[ExecutorModel]) -> list[ExecutorModel]:
        """The executors as they are projected to be under this strategy; a new one is like its source (3.4)."""
        source = next(each for each in executors if each.id == self.source)
        chosen = frozenset(self.substreams)
        moved = [each for each in source.substreams if each.id in chosen]
        changed = {self.source: source.without(chosen)}
        target = next((each for each in executors if each.id == self.target), None)
        changed[self.target] = (target or _new(self.target, source)).joined_by(moved)
        after = [changed.get(each.id, each) for each in executors if not (self.source_leaves and each is source)]
        return after if target else [*after, changed[self.target]]


def _new(number: int, source: ExecutorModel) -> ExecutorModel:
    return replace(source, id=number, arrival_rate=0.0, latency_s=0.0, substreams=(), pause_s=0.0)
