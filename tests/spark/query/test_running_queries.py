"""Running queries: started, watched and ended together, without Spark."""

from types import SimpleNamespace

import pytest

from rheostat.errors import PlantError, TopologyError
from rheostat.spark.query.running_queries import RunningQueries
from rheostat.spark.query.unit import Unit, units_of
from rheostat.spark.state.query_groups import QueryGroups
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "words", [Source("lines"), Operator("split", inputs="lines"), Operator("count", inputs="split", key="word")]
)


class FakeQuery:
    """Records what happens to it in `log`; it is quiet after some looks."""

    def __init__(self, unit: Unit, log: list[str], looks: int = 0) -> None:
        self.unit, self._log, self._looks = unit, log, looks
        self.batches = SimpleNamespace(settle=lambda: log.append(f"settle {unit.name}"))
        self.is_active = False

    @property
    def is_quiet(self) -> bool:
        self._looks -= 1
        return self._looks < 0

    def start(self, name: str) -> None:
        self.is_active = True
        self._log.append(f"start {name}")

    def close(self) -> None:
        self._log.append(f"close {self.unit.name}")

    def stop(self) -> None:
        self.is_active = False
        self._log.append(f"stop {self.unit.name}")


@pytest.fixture
def log() -> list[str]:
    return []


def made(units, log, **options):
    return {unit.name: FakeQuery(unit, log, **options) for unit in units}


@pytest.fixture
def running(log):
    running = RunningQueries(TOPOLOGY, units_of(TOPOLOGY), QueryGroups())
    running.start(made(running.units, log))
    return running


def test_readers_are_started_before_writers(running, log):
    assert log == ["start words: count", "start words: split", "start words: lines"]


def test_the_query_of_an_operator_is_the_one_that_runs_it(running):
    assert running.of("split") is running.by_name["split"]
    with pytest.raises(TopologyError, match="no operator 'splti'; did you mean 'split'"):
        running.of("splti")


def test_before_the_start_there_is_no_query():
    with pytest.raises(PlantError, match="topology 'words' is not started"):
        RunningQueries(TOPOLOGY, units_of(TOPOLOGY), QueryGroups()).of("split")


def test_a_query_that_ends_on_its_own_has_failed(running):
    assert running.find_failed() is None
    running.by_name["split"].is_active = False
    assert running.find_failed() is running.by_name["split"]
    running.stopping.set()
    assert running.find_failed() is None


def test_a_query_may_end_while_it_is_replaced_and_must_run_again_afterwards(running):
    running.by_name["split"].is_active = False
    with running.replacing(["split", "count"]):
        assert running.find_failed() is None
    assert running.find_failed() is running.by_name["split"]


def test_a_replacement_keeps_the_other_queries_and_the_order_of_the_topology(running, log):
    kept = running.by_name["lines"]
    units = units_of(TOPOLOGY, [("split", "count")])
    running.replace(made(units[1:], log), units)
    assert list(running.by_name) == ["lines", "split+count"]
    assert (running.by_name["lines"], running.units) == (kept, units)
    assert log[-1] == "start words: split+count"


def test_nothing_is_started_any_more_when_all_are_to_stop(running, log):
    units = units_of(TOPOLOGY, [("split", "count")])
    running.stopping.set()
    running.replace(made(units[1:], log), units)
    assert log[-1] == "start words: lines"


def test_at_the_end_all_are_closed_before_the_first_is_stopped(running, log):
    log.clear()
    running.finish(timeout_s=20)
    assert log[:3] == ["close lines", "close split", "close count"]
    assert log[3:] == [f"{what} {name}" for name in ("lines", "split", "count") for what in ("stop", "settle")]
    assert running.stopping.is_set()


def test_queries_that_do_not_become_quiet_are_stopped_all_the_same(log):
    running = RunningQueries(TOPOLOGY, units_of(TOPOLOGY), QueryGroups())
    running.start(made(running.units, log, looks=10**9))
    running.finish(timeout_s=0)
    assert not any(query.is_active for query in running.by_name.values())


def test_an_interrupt_while_batches_finish_leaves_no_query_running(log, monkeypatch):
    running = RunningQueries(TOPOLOGY, units_of(TOPOLOGY), QueryGroups())
    running.start(made(running.units, log, looks=1000))

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rheostat.spark.query.running_queries.time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        running.finish(60.0)
    assert not any(query.is_active for query in running.by_name.values())
    assert not running.lock.locked()
