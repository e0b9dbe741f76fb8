"""A topology's runtime and its queries, made up by a test."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from rheostat.snapshot import PartitionState
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.streams.stream import Arrival
from rheostat.topology import Operator, Source, Topology

WORDS = Topology(
    "words",
    [
        Source("lines"),
        Operator("split", inputs="lines"),
        Operator("count", inputs="split", key="word", substreams=2),
    ],
)


class FakeRuntime:
    """Holds what the real one would find; one query for each group of operators, all with the same batches."""

    topology = WORDS
    failure: Exception | None = None

    def __init__(self, *groups: tuple[str, ...]) -> None:
        self.streams: dict[str, tuple[Arrival, ...] | None] = {"split": ()}
        self.timed: Timings | None = None
        self.progress: str | None = None
        self.arrange(*groups or (("split",), ("count",)))

    def arrange(self, *groups: tuple[str, ...]) -> None:
        """Have other queries, as after a fusion; those before keep what they have had until now."""
        self.records: list[BatchRecord] = []
        self.queries = {"+".join(group): self._query(group, self.records) for group in groups}

    def waiting(self, operator: str) -> dict[str, tuple[Arrival, ...] | None]:
        return self.streams

    def partitions(self, operator: str) -> dict[str, tuple[PartitionState, ...]]:
        return {}

    def stream_problem(self, operator: str) -> str | None:
        return None

    def timings(self, operator: str) -> Timings | None:
        return self.timed

    def _query(self, group: tuple[str, ...], records: list[BatchRecord]) -> SimpleNamespace:
        operators = [WORDS.operators[name] for name in group if name in WORDS.operators]
        readers = {} if group[0] in WORDS.sources else {"stream": None}
        query = SimpleNamespace(runId=f"run of {group[0]}", _jsq=SimpleNamespace(lastProgress=self._last_progress))
        batches = SimpleNamespace(after=lambda batch: tuple(each for each in records if each.batch > batch))
        unit = SimpleNamespace(operators=operators, keyed=any(operator.keyed for operator in operators))
        return SimpleNamespace(unit=unit, readers=readers, query=query, batches=batches)

    def _last_progress(self) -> SimpleNamespace | None:
        return None if self.progress is None else SimpleNamespace(json=lambda: self.progress)


@pytest.fixture
def runtime_of() -> Callable[..., FakeRuntime]:
    """Makes a runtime with one query for each of the given groups; without any, one for each operator."""
    return FakeRuntime


@pytest.fixture
def runtime() -> FakeRuntime:
    return FakeRuntime()
