"""The log of a run's records."""

import numpy as np

from rheostat.experiments.on_spark.record_log import RecordLog, ResultBatch


def test_the_last_result_of_a_record_completes_it():
    log = RecordLog()
    assert [log.enter(time_s) for time_s in (0.0, 1.0, 2.0)] == [0, 1, 2]
    log.batches["a", 0] = ResultBatch(10.0, np.array([0, 1]))
    log.batches["b", 0] = ResultBatch(12.0, np.array([0, -1]))
    np.testing.assert_array_equal(log.completed_s(9.0), [3.0, 1.0, np.nan])
    assert log.has_results(frozenset({"a", "b"}))
    assert not log.has_results(frozenset({"a", "c"}))


def test_a_record_is_lost_if_later_batches_passed_it():
    log = RecordLog()
    for number in range(6):
        log.enter(float(number))
    assert log.lost() == 0
    log.batches["a", 0] = ResultBatch(10.0, np.array([0, 2]))
    assert log.lost() == 0
    log.batches["a", 1] = ResultBatch(11.0, np.array([3]))
    assert log.lost() == 1


def test_records_of_the_warm_up_are_numbered_apart():
    log = RecordLog()
    assert [log.warm_up(), log.warm_up()] == [-1, -2]
    log.batches["a", 0] = ResultBatch(10.0, np.array([-1, -2]))
    assert len(log.completed_s(0.0)) == 0
    assert log.lost() == 0
