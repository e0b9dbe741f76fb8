"""Snapshot watch: sees the snapshots of one plant in turn, and fails where they break what a snapshot promises."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from rheostat.snapshot import ExecutorPhase, Snapshot

_ROUNDING = 1e-9
"""Seconds are sums of many floating-point numbers."""

_SERVING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)

Counters = dict[tuple[object, ...], Mapping[str, float | None]]
"""Counters by name, of each thing in a snapshot that has some."""

Names = Callable[[str, str], bool]
"""Whether a problem is about an operator or pool."""


class SnapshotWatch:
    """`see` each snapshot. Time moves on; counters never fall; unknown is None, and a problem names it."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._last: Snapshot | None = None
        self._known: dict[tuple[object, ...], dict[str, float]] = {}

    def see(self, snapshot: Snapshot) -> None:
        last, self._last = self._last, snapshot
        assert unnamed(snapshot, self._names) == []
        check_batches_under_way(snapshot)
        if last is None:
            self._known = {key: _known(values) for key, values in counters(snapshot).items()}
            return
        assert snapshot.time_s >= last.time_s
        assert snapshot.operators.keys() == last.operators.keys()
        assert {(s.operator, s.index) for s in snapshot.substreams} == {(s.operator, s.index) for s in last.substreams}
        self._check_newcomers(snapshot, self._check_counters(snapshot))

    def _check_counters(self, snapshot: Snapshot) -> int:
        """Compares with the last known values; returns the rows that all operators completed since then."""
        before, self._known = self._known, {}
        completed = 0.0
        for key, values in counters(snapshot).items():
            earlier, now = before.get(key, {}), _known(values)
            for name, value in now.items():
                assert value >= earlier.get(name, value) - _ROUNDING, f"{name} of {key} fell from {earlier[name]}"
            self._known[key] = earlier | now
            if key[0] == "operator" and "completed" in now:
                completed += now["completed"] - earlier.get("completed", 0)
        self._seen = set(before)
        return int(completed)

    def _check_newcomers(self, snapshot: Snapshot, completed: int) -> None:
        """An executor that was not there has done nothing before: rates are computed from that."""
        for executor in snapshot.executors:
            if ("executor", executor.pool, executor.id) not in self._seen:
                assert (executor.completed or 0) <= completed + 1, f"{executor} is new; {completed} rows were completed"


def check_batches_under_way(snapshot: Snapshot) -> None:
    """No batch has worked less than nothing, or has more tasks behind it and at work than it has."""
    for operator in snapshot.operator_states:
        if (batch := operator.under_way) is not None:
            assert batch.elapsed_s >= 0, operator
            assert batch.worked_s >= 0, operator
            assert min(batch.finished, batch.running) >= 0, operator
            assert batch.finished + batch.running <= batch.tasks, operator
            assert batch.rows is None or batch.rows >= 0, operator


def counters(snapshot: Snapshot) -> Counters:
    """All that is counted in a snapshot."""
    found: Counters = {}
    for operator in snapshot.operator_states:
        found["operator", operator.name] = _of(operator, "arrived", "completed", "lost", "busy_s")
        if operator.batch is not None:
            found["batch", operator.name] = _of(operator.batch, "count", "duration_s", "fixed_s", "tasks")
    for executor in snapshot.executors:
        found["executor", executor.pool, executor.id] = _of(executor, "arrived", "completed", "busy_s", "cpu_s")
    for substream in snapshot.substreams:
        found["substream", substream.operator, substream.index] = _of(substream, "arrived", "completed")
    for stream in snapshot.streams:
        found["stream", stream.name, stream.consumer] = _of(stream, "rows", "bytes")
    return found


def unnamed(snapshot: Snapshot, names: Names) -> list[str]:
    """Unknown values that no problem names. Latencies and variations are left out: nothing may have completed."""
    return [
        f"{what} of {things}, with the problems {snapshot.problems}"
        for what, things in unknown(snapshot)
        if not any(names(problem, thing) for problem in snapshot.problems for thing in things)
    ]


def unknown(snapshot: Snapshot) -> list[tuple[str, tuple[str, ...]]]:
    """The name of each unknown value, and the operators or pools by one of which a problem may name it."""
    return list(_unknown(snapshot))


def _unknown(snapshot: Snapshot) -> Iterator[tuple[str, tuple[str, ...]]]:
    for operator in snapshot.operator_states:
        yield from _missing(operator, (operator.name,), "arrived", "completed", "queued", "busy_s")
    everything = tuple(snapshot.operators)
    for executor in (each for each in snapshot.executors if each.phase in _SERVING):
        yield from _missing(executor, (executor.pool, *everything), "arrived", "completed", "queued", "busy_s")
    for substream in snapshot.substreams:
        yield from _missing(substream, (substream.operator,), "arrived", "completed", "queued")
    for stream in snapshot.streams:
        yield from _missing(stream, (stream.consumer,), "rows")


def _missing(thing: msgspec.Struct, called: tuple[str, ...], *fields: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from ((field, called) for field in fields if getattr(thing, field) is None)


def _of(thing: msgspec.Struct, *fields: str) -> dict[str, float | None]:
    return {field: getattr(thing, field) for field in fields}


def _known(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}
