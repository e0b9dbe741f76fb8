import pytest

from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.policies.measures_window import MeasuresWindow


def add(window, time_s, rate, interval_s=1.0):
    window.add(time_s, Measures(interval_s, {"a": OperatorMeasures(service_rate=rate)}, external_rate=rate))


def test_it_is_the_mean_over_the_last_seconds():
    window = MeasuresWindow(3.0)
    for second, rate in enumerate([100, 10, 20, 30]):
        add(window, float(second), rate)
    assert window.mean("a", "service_rate") == window.external_rate == 20


def test_turns_count_by_their_length_and_unknown_values_not_at_all():
    window = MeasuresWindow(100.0)
    add(window, 1.0, 10, interval_s=1.0)
    add(window, 2.0, None, interval_s=1.0)
    add(window, 5.0, 20, interval_s=3.0)
    assert window.mean("a", "service_rate") == pytest.approx((10 + 60) / 4)


def test_nothing_known_is_none():
    window = MeasuresWindow(10.0)
    assert window.external_rate is None
    add(window, 1.0, None)
    assert window.mean("a", "service_rate") is None
    assert window.mean("unknown", "service_rate") is None


def test_a_time_that_goes_back_starts_it_again():
    window = MeasuresWindow(10.0)
    add(window, 5.0, 10)
    add(window, 4.0, 30)
    assert window.external_rate == 30
