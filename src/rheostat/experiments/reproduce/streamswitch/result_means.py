"""Result means: figures of the tables, averaged over the runs of a case."""

from collections.abc import Sequence

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.result import Result


def success(results: Sequence[Result]) -> Mean:
    """Success rate in percent."""
    return mean_of([100 * (result.success_rate or 0.0) for result in results])


def executors(results: Sequence[Result]) -> Mean:
    return mean_of([result.mean_executors for result in results])


def events(results: Sequence[Result]) -> Mean:
    """Switching events per run."""
    return mean_of([float(result.switching_events) for result in results])


def switching_s(results: Sequence[Result]) -> Mean:
    """Duration of a switching event in seconds."""
    return mean_of([result.switching_time_s / max(1, result.switching_events) for result in results])


def switching_percent(results: Sequence[Result]) -> Mean:
    """Percentage of the executors' time spent on switching."""
    return mean_of([100 * result.switching_share for result in results])
