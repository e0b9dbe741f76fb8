"""Numbers as the tables show them."""

from collections.abc import Sequence

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.result import Result


def success(results: Sequence[Result]) -> Mean:
    """Success rate in per cent."""
    return mean_of([100 * (result.success_rate or 0.0) for result in results])


def executors(results: Sequence[Result]) -> Mean:
    return mean_of([result.mean_executors for result in results])


def events(results: Sequence[Result]) -> Mean:
    """Switching events in a run."""
    return mean_of([float(result.switching_events) for result in results])


def switching_s(results: Sequence[Result]) -> Mean:
    """Seconds that one switching event takes."""
    return mean_of([result.switching_time_s / max(1, result.switching_events) for result in results])


def switching_percent(results: Sequence[Result]) -> Mean:
    """Per cent of executors' time spent in switching."""
    return mean_of([100 * result.switching_share for result in results])
