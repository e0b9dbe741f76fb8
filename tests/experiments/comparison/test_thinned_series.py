from rheostat.experiments.comparison.thinned_series import thinned
from rheostat.experiments.time_series import SeriesPoint


def point(time_s: float, rate: float | None, latency_s: float | None, met: bool | None) -> SeriesPoint:
    return SeriesPoint(
        time_s=time_s,
        input_rate=rate,
        latency_s=latency_s,
        backlog=int(time_s),
        executors={"a": int(time_s)},
        sla_met=met,
    )


def test_a_short_series_stays_as_it_is() -> None:
    series = [point(1, None, None, None), point(2, 5.0, 1.0, True)]
    assert thinned(series, 2) == tuple(series)


def test_points_are_joined_so_that_no_peak_and_no_missed_window_is_lost() -> None:
    series = [
        point(1, None, None, None),
        point(2, 4.0, 3.0, False),
        point(3, 2.0, 1.0, True),
        point(4, 4.0, None, None),
    ]
    assert thinned(series, 2) == (point(2, 4.0, 3.0, False), point(4, 3.0, 1.0, True))


def test_no_more_points_than_asked_for_and_the_last_one_is_kept() -> None:
    joined = thinned([point(second, 1.0, 1.0, True) for second in range(1001)], 240)
    assert len(joined) == 240
    assert joined[-1].time_s == 1000
