import pytest

from rheostat.cli.run_history import RunHistory, TurnSummary
from rheostat.sla import SLA


def turn(
    time_s: float, latency_s: float | None, completed: int = 10, *, executors: int = 2, oldest_s: float = 0.0
) -> TurnSummary:
    return TurnSummary(
        time_s=time_s,
        completed=completed,
        latency_s=latency_s,
        oldest_s=oldest_s,
        external_rate=1.0,
        arrival_rate={},
        queued={},
        utilisation={},
        executors={"a": executors},
        serving=executors,
        reserved=0,
        paid=executors,
    )


def test_executor_seconds_are_counted_from_turn_to_turn() -> None:
    history = RunHistory([turn(0, 1.0, executors=2), turn(10, 1.0, executors=4), turn(15, 1.0, executors=9)])
    assert history.executor_seconds() == 2 * 10 + 4 * 5
    assert history.duration_s() == 15


def test_the_success_rate_is_that_of_windows_weighed_by_completions() -> None:
    sla = SLA("2s", "4s")
    history = RunHistory([turn(t, latency) for t, latency in enumerate([1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0])])
    # Windows of two turns at a period of 2 s: the two that contain the slow turn miss, six others meet.
    assert history.success_rate(sla, 2.0) == pytest.approx(6 / 8)


def test_silence_while_something_waits_too_long_is_a_miss() -> None:
    quiet = RunHistory([turn(t, None, completed=0, oldest_s=5.0) for t in range(4)])
    assert quiet.success_rate(SLA("2s", "2s"), 1.0) == 0.0
    assert RunHistory([turn(t, None, completed=0) for t in range(4)]).success_rate(SLA("2s", "2s"), 1.0) is None
