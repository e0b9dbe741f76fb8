"""Query replacement: the queries of a chain stop one after the other, without Spark."""

import threading
from types import SimpleNamespace

import pytest

from rheostat.errors import PlantError
from rheostat.spark.query.fusion.query_replacement import stop_chain


class FakeQuery:
    """Writes down what happens to it; it has rows, or is busy, for so many looks."""

    def __init__(self, name, log, rows=0, busy=0):
        self.unit = SimpleNamespace(name=name)
        self.batches = SimpleNamespace(settle=lambda: log.append(f"{name} settled"))
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
