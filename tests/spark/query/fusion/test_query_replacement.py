"""Query replacement: the queries of a chain stop one after the other and others take their place, without Spark."""

import threading
from types import SimpleNamespace

import pytest

from rheostat.errors import PlantError
from rheostat.spark.query.fusion import query_replacement
from rheostat.spark.query.fusion.query_changes import listed
from rheostat.spark.query.fusion.query_replacement import QueryReplacement, stop_chain
from rheostat.spark.query.running_queries import RunningQueries
from rheostat.spark.query.unit import units_of
from rheostat.spark.state.query_groups import QueryGroups
from rheostat.topology import Operator, Source, Topology


class FakeQuery:
    """Writes down what happens to it; it has rows, or is busy, for so many looks."""

    def __init__(self, name, log, rows=0, busy=0):
        self.unit = SimpleNamespace(name=name)
        self.batches = SimpleNamespace(
            settle=lambda: log.append(f"{name} settled"),
            carry_over=lambda earlier: setattr(self, "continues", earlier),
        )
        self.is_active = True
        self._name, self._log, self._rows, self._busy = name, log, rows, busy

    @property
    def has_rows(self):
        self._rows -= 1
        self._log.append(f"{self._name} looked at")
        return self._rows >= 0

    @property
    def is_quiet(self):
        self._busy -= 1
        return self._busy < 0

    def close(self):
        self._log.append(f"{self._name} closed")

    def stop(self):
        self._log.append(f"{self._name} stopped")


def test_the_first_ends_at_once_and_the_next_when_it_has_taken_all_that_was_published():
    log = []
    stop_chain([FakeQuery("a", log, rows=9, busy=2), FakeQuery("b", log, rows=2)], threading.Event())
    assert log == [
        "a closed", "a stopped", "a settled",
        "b looked at", "b looked at", "b looked at", "b closed", "b stopped", "b settled",
    ]  # fmt: skip


def test_one_that_has_died_is_not_waited_for():
    log = []
    dead = FakeQuery("b", log, rows=10**9)
    dead.is_active = False
    stop_chain([FakeQuery("a", log), dead], threading.Event())
    assert log[-1] == "b settled"


def test_it_is_stopping_when_all_are_to_stop():
    stopping, log = threading.Event(), []
    stopping.set()
    with pytest.raises(PlantError, match="'b' was being replaced when the whole topology was stopped"):
        stop_chain([FakeQuery("a", log), FakeQuery("b", log, rows=10**9)], stopping)
    assert "b closed" not in log


def test_a_query_that_never_finishes_is_a_timeout():
    with pytest.raises(PlantError, match="'a' did not finish its batches in time"):
        stop_chain([FakeQuery("a", [], busy=10**9)], threading.Event(), timeout_s=0.0)


TOPOLOGY = Topology(
    "words", [Source("lines"), Operator("split", inputs="lines"), Operator("count", inputs="split", key="word")]
)


class Run:
    """Running queries that are replaced by fakes, and what happened to them."""

    def __init__(self, monkeypatch, *, streams_in_files=True):
        self.log = []
        self.running = RunningQueries(TOPOLOGY, units_of(TOPOLOGY), QueryGroups())
        self.directory = SimpleNamespace(
            checkpoint=None,
            stream=None,
            record_queries=lambda queries: self.log.append(listed(queries)),
            remove_unused_checkpoints=lambda: self.log.append("clean up"),
        )
        self.replacement = QueryReplacement(self.running, self, self.directory, streams_in_files=streams_in_files)
        monkeypatch.setattr(query_replacement, "_check_checkpoint", lambda query: None)
        monkeypatch.setattr(query_replacement, "migrate_checkpoints", self.migrate)
        self.migration_error = None

    def build(self, units, among):
        return {unit.name: StartableQuery(unit, self.log) for unit in units}

    def migrate(self, change, checkpoint, stream):
        if self.migration_error is not None:
            raise self.migration_error
        self.log.append(f"migrate {change}")

    def start(self):
        self.running.start(self.build(self.running.units, self.running.units))
        self.log.clear()


class StartableQuery(FakeQuery):
    def __init__(self, unit, log):
        super().__init__(unit.name, log)
        self.unit = unit

    def start(self, name):
        self._log.append(f"{self._name} started")


def names(run):
    return list(run.running.by_name)


def test_fused_operators_get_one_query_once_theirs_have_stopped_and_the_directory_knows_it(monkeypatch):
    run = Run(monkeypatch)
    run.start()
    run.replacement.rearrange([("split", "count")])
    steps = [line for line in run.log if not line.endswith(("closed", "settled", "looked at"))]
    assert steps == [
        "split stopped", "count stopped", "migrate split, count to split+count", "lines, split+count",
        "split+count started", "clean up",
    ]  # fmt: skip
    assert names(run) == ["lines", "split+count"]


def test_a_change_that_fails_leaves_the_queries_as_they_were(monkeypatch):
    run = Run(monkeypatch)
    run.start()
    run.migration_error = OSError("no space left on device")
    with pytest.raises(OSError, match="no space"):
        run.replacement.rearrange([("split", "count")])
    assert run.log[-2:] == ["count started", "split started"]
    assert names(run) == ["lines", "split", "count"]


def test_a_query_that_is_started_again_keeps_the_record_of_its_batches(monkeypatch):
    run = Run(monkeypatch)
    run.start()
    ended = run.running.by_name["split"]
    run.replacement.restart(ended)
    assert run.running.by_name["split"].continues is ended.batches
    run.log.clear()
    run.replacement.restart(ended)
    assert run.log == []


def test_a_new_query_that_does_not_start_is_taken_back(monkeypatch):
    run = Run(monkeypatch)
    run.start()

    def start(self, name):
        if "+" in name:
            raise PlantError("refused")
        self._log.append(f"{self._name} started")

    monkeypatch.setattr(StartableQuery, "start", start)
    with pytest.raises(PlantError, match="refused"):
        run.replacement.rearrange([("split", "count")])
    assert [line for line in run.log if line.startswith("lines")] == ["lines, split+count", "lines, split, count"]
    assert names(run) == ["lines", "split", "count"]


def test_a_topology_that_does_not_run_is_not_rearranged(monkeypatch):
    run = Run(monkeypatch)
    with pytest.raises(PlantError, match=r"cannot change split, count to split\+count: topology 'words' does not run"):
        run.replacement.rearrange([("split", "count")])


def test_only_streams_in_files_can_change_their_writer(monkeypatch):
    run = Run(monkeypatch, streams_in_files=False)
    run.start()
    with pytest.raises(PlantError, match="only streams in files can change their writer"):
        run.replacement.rearrange([("split", "count")])
    run.replacement.rearrange([])
    assert run.log == []
