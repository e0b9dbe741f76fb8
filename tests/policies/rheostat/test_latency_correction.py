"""The ratio of measured to predicted latency, learned where nothing but the model is to blame."""

import pytest

from rheostat.policies.rheostat.latency_correction import LatencyCorrection


def learned(turns, *, predicted_s=3.0, measured_s=3.6, is_settled=True):
    correction = LatencyCorrection(sla_s=5.0, window_s=30.0)
    for turn in range(turns):
        correction.learn(2.0 * turn, predicted_s, measured_s, is_settled=is_settled)
    return correction.factor


def test_a_model_that_predicts_too_little_is_corrected_in_the_course_of_minutes():
    assert learned(15) == 1.0, "not within the first window"
    assert 1.0 < learned(40) < 1.2
    assert learned(400) == pytest.approx(1.2, abs=0.01)


def test_nothing_is_learned_while_an_action_or_a_backlog_makes_the_latency():
    assert learned(400, is_settled=False) == 1.0


def test_nothing_is_learned_from_overload_or_from_latencies_that_do_not_matter():
    assert learned(400, predicted_s=float("inf")) == 1.0
    assert learned(400, predicted_s=0.1, measured_s=0.2) == 1.0


def test_a_single_long_latency_is_bounded():
    correction = LatencyCorrection(sla_s=5.0, window_s=30.0)
    for turn in range(20):
        correction.learn(2.0 * turn, 3.0, 3.0, is_settled=True)
    correction.learn(42.0, 3.0, 300.0, is_settled=True)
    assert correction.factor < 1.03


def test_a_window_from_before_a_rise_of_the_load_does_not_show_that_the_model_predicts_too_much():
    """The model is right all the time, but the mean of the window follows a rise only in the course of it."""
    correction, latencies_s = LatencyCorrection(sla_s=5.0, window_s=30.0), []
    for turn in range(60):
        latencies_s = [*latencies_s, 2.0 if turn < 40 else 4.0][-15:]
        measured_s = sum(latencies_s) / len(latencies_s)
        correction.learn(2.0 * turn, latencies_s[-1], measured_s, is_settled=True)
        assert correction.factor == pytest.approx(1.0, abs=0.01)


def test_predictions_from_before_an_action_are_not_compared_with_latencies_after_it():
    correction = LatencyCorrection(sla_s=5.0, window_s=30.0)
    for turn in range(100):
        correction.learn(2.0 * turn, 4.0 if turn < 40 else 2.0, 2.0, is_settled=turn >= 40)
    assert correction.factor == pytest.approx(1.0)
