"""Figures from the times of records."""

import numpy as np
import pytest

from rheostat.experiments.on_spark.record_figures import RecordFigures
from rheostat.sla import SLA

ENTERED = np.arange(0.0, 20.0, 0.1)


def test_records_in_time_meet_every_window():
    figures = RecordFigures(ENTERED, ENTERED + 1.0, 20.0, SLA("2s", "5s"))
    assert figures.success_rate == 1.0
    assert figures.mean_latency_s == pytest.approx(1.0)
    assert figures.p99_latency_s == pytest.approx(1.0)
    assert figures.windows[0][0] == pytest.approx(5.0)
    assert figures.windows[-1][0] == pytest.approx(20.0)
    assert figures.late(0.5) == len(figures.latencies_s)
    assert figures.late(None) == figures.late(3.0) == 0


def test_a_stall_is_missed_even_if_nothing_completes():
    completed = np.where(ENTERED < 10, ENTERED + 1.0, np.nan)
    figures = RecordFigures(ENTERED, completed, 20.0, SLA("2s", "1s"))
    assert figures.met_between(5.0, 9.0) is True
    assert figures.met_between(14.0, 20.0) is False
    assert figures.backlog(20.0) == 100
    assert figures.mean_latency_between(12.0, 20.0) is None


def test_what_completes_after_the_end_does_not_count():
    figures = RecordFigures(ENTERED, ENTERED + 5.0, 20.0)
    assert len(figures.latencies_s) == np.sum(ENTERED + 5.0 <= 20.0)
    assert figures.success_rate is None
    assert figures.windows == []


def test_rates_and_throughput():
    figures = RecordFigures(ENTERED, ENTERED + 1.0, 20.0, SLA("2s", "5s"))
    assert figures.input_rate(0.0, 10.0) == pytest.approx(10.0, rel=0.02)
    assert figures.throughput_degradation == pytest.approx(1 / 20, abs=0.02)


def test_a_run_without_records_has_no_figures():
    none = RecordFigures(np.array([]), np.array([]), 10.0, SLA("2s", "5s"))
    assert none.mean_latency_s is none.p99_latency_s is none.success_rate is none.throughput_degradation is None
