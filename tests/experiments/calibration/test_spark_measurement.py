"""Watching a topology on Spark: what it notes of batches and executors, and what it says when there are none."""

from types import SimpleNamespace
from typing import Any

import pytest
from calibrated_plants import ONE

from rheostat.errors import ConfigError, PlantError
from rheostat.experiments.calibration import spark_measurement
from rheostat.experiments.calibration.spark_measurement import _Watch
from rheostat.names import OperatorName
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, ExecutorState, Latency, Snapshot, StreamState
from rheostat.spark.query.batch_log import BatchRecord

SERVE = OperatorName("serve")


class FakeSpark:
    """A topology whose executors start and whose batches end as the test says."""

    def __init__(self) -> None:
        self.now_s, self.ready, self.rows = 100.0, True, 0
        self.active: set[int] = set()
        self.log: list[BatchRecord] = []
        self.plant = SimpleNamespace(apply=lambda plan: ("no room",), reached=self._reached, observe=self._observe)
        self.runtime = SimpleNamespace(batches=self._batches, timings=lambda name: None, wait=self._wait)

    def _reached(self, plan: Plan) -> Any:
        if self.ready:
            self.active = set(plan.pools[plan.pool_of[SERVE]].executors)
        return plan.pools.keys() if self.ready else frozenset()

    def _observe(self) -> Snapshot:
        pool = Plan.initial(ONE).pool_of[SERVE]
        executors = tuple(ExecutorState(pool, number, ExecutorPhase.ACTIVE) for number in sorted(self.active))
        return Snapshot(self.now_s, (), executors, streams=(StreamState("records", SERVE, rows=self.rows),))

    def _batches(self, name: str, after: int) -> tuple[BatchRecord, ...]:
        return tuple(each for each in self.log if each.batch > after) if name == SERVE else ()

    def _wait(self, seconds: float) -> bool:
        self.now_s += seconds
        return False

    def batch(self, rows: int, duration_s: float = 1.0) -> None:
        record = BatchRecord(
            len(self.log), self.now_s, self.now_s + duration_s, {"records": rows}, duration_s,
            waited=Latency(rows, 1.5), latency=Latency(rows, 2.0),
        )  # fmt: skip
        self.log.append(record)
        self.rows += rows
        self.now_s += duration_s


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> FakeSpark:
    fake = FakeSpark()
    clock = SimpleNamespace(time=lambda: fake.now_s, monotonic=lambda: fake.now_s)
    monkeypatch.setattr(spark_measurement, "time", clock)
    return fake


def watch(spark: FakeSpark) -> _Watch:
    made: Any = spark
    return _Watch(ONE, made, slots=1)


def test_batches_know_the_executors_that_served_them(spark: FakeSpark) -> None:
    it = watch(spark)
    it.follow(Plan.initial(ONE, 1))
    it.look_for(2.0)
    spark.batch(10)
    it.look_for(2.0)
    it.forget()
    it.setting(1, 5.0)
    it.follow(Plan.initial(ONE, 2))
    it.look_for(2.0)
    spark.batch(20)
    it.look_for(2.0)
    spark.batch(30)
    it.look_for(2.0)
    it.setting(2, 5.0)
    found = it.measurements()
    samples = found.operators[SERVE].batches
    assert [(each.rows, each.executors, each.is_first) for each in samples] == [
        (10, 1, True),
        (20, 2, True),
        (30, 2, False),
    ]
    assert samples[0].latency_s == 2.0
    assert [setting.executors for setting in found.settings] == [1, 2]
    assert found.operators[SERVE].rows_read == {"records": 60}


def test_starts_after_the_first_are_timed(spark: FakeSpark) -> None:
    it = watch(spark)
    it.follow(Plan.initial(ONE, 1))
    it.look()
    it.forget()
    it.follow(Plan.initial(ONE, 3))
    it.setting(3, 5.0)
    (starts,) = it.measurements().starts
    assert len(starts.served_s) == 2


def test_the_input_rate_of_a_setting_is_what_arrived(spark: FakeSpark) -> None:
    it = watch(spark)
    it.follow(Plan.initial(ONE, 1))
    it.look()
    it.forget()

    def feeding(seconds: float) -> bool:
        spark.now_s += seconds
        spark.rows += round(40 * seconds)
        return False

    spark.runtime.wait = feeding
    it.setting(1, 10.0)
    assert it.measurements().settings[0].input_rates["records"] == pytest.approx(40.0)


def test_an_application_without_batches_is_an_error(spark: FakeSpark) -> None:
    it = watch(spark)
    it.follow(Plan.initial(ONE, 1))
    with pytest.raises(ConfigError, match=r"'serve' finished no batch with records within 180 s: see that the sources"):
        it.await_batches()


def test_executors_that_do_not_start_are_an_error(spark: FakeSpark) -> None:
    spark.ready = False
    with pytest.raises(PlantError, match="2 executors did not start within 180 s: no room"):
        watch(spark).follow(Plan.initial(ONE, 2))
