"""Start fit: how long executors take to start and to warm up, and how many start at once, from measured starts."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from rheostat.errors import ConfigError
from rheostat.experiments.calibration.batch_fit import Estimate
from rheostat.experiments.calibration.measurements import ExecutorStarts
from rheostat.experiments.replicate import mean_of


class StartFit(msgspec.Struct, frozen=True):
    """Executors requested together register after `start`, `at_once` of them at a time, and serve `warm_up` later.

    `at_once` is None if all that were requested together started at the same time.
    """

    start: Estimate
    warm_up: Estimate
    at_once: int | None


def fit_starts(starts: Sequence[ExecutorStarts]) -> StartFit:
    """The starts of the simulator that are nearest to the times at which executors served."""
    if not starts:
        raise ConfigError(
            "no executor was started after the first ones: give numbers of executors that rise, e.g. --executors 1,2,4"
        )
    most = max(len(each.served_s) for each in starts)
    best = min((_line(starts, count) for count in range(most, 0, -1)), key=lambda line: line.error)
    left_s = [served_s - best.start_s * turn for turn, served_s in _served(starts, best.at_once)]
    firsts_s = [min(each.registered_s) for each in starts]
    return StartFit(
        Estimate(best.start_s, mean_of(firsts_s).half_width),
        Estimate(best.warm_up_s, mean_of(left_s).half_width),
        None if best.at_once >= most else best.at_once,
    )


class _Line(NamedTuple):
    """How far the measured times are from a line in which so many executors start at once."""

    error: float
    at_once: int
    start_s: float
    warm_up_s: float


def _line(starts: Sequence[ExecutorStarts], at_once: int) -> _Line:
    """The best times for `at_once`. A start takes at least as long as the first executors took to register."""
    turns, served_s = np.array(_served(starts, at_once), dtype=float).T
    start_s = float(np.mean([min(each.registered_s) for each in starts]))
    away = turns - turns.mean()
    if away.any():
        start_s = max(start_s, float(away @ served_s) / float(away @ away))
    warm_up_s = float(np.mean(served_s - start_s * turns))
    if warm_up_s < 0:
        start_s, warm_up_s = float(turns @ served_s) / float(turns @ turns), 0.0
    return _Line(float(np.sum((served_s - start_s * turns - warm_up_s) ** 2)), at_once, start_s, warm_up_s)


def _served(starts: Sequence[ExecutorStarts], at_once: int) -> list[tuple[int, float]]:
    """The turn in which each executor started if `at_once` of those requested together do, and when it served."""
    return [(place // at_once + 1, served_s) for each in starts for place, served_s in enumerate(sorted(each.served_s))]
