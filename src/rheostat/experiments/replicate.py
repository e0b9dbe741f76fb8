"""Replication: one scenario simulated with many seeds, in one or more processes; means with confidence intervals.

Runs share nothing, so the results do not depend on the number of processes.
"""

import math
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import msgspec
import numpy as np

from rheostat.errors import ConfigError
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate

FIGURES = ("success_rate", "mean_executors", "executor_seconds", "mean_latency_s", "p99_latency_s", "saved_resources")


class Mean(msgspec.Struct, frozen=True):
    """A mean over runs and the half-width of its 95 % confidence interval (None for a single run)."""

    mean: float
    half_width: float | None


def replicate(
    scenario: Scenario,
    policy: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    seeds: Sequence[int],
    processes: int = 1,
    progress: Callable[[int], None] | None = None,
    series: bool = False,
) -> list[Result]:
    """One result for each seed, in the order of the seeds; `progress` is called with the number of finished runs.

    With `series` each has a point for each turn.
    """
    if processes < 1:
        raise ConfigError(f"processes {processes!r} must be at least 1")
    run = partial(_run, scenario, policy, options, series)
    if processes == 1:
        return _collect(map(run, seeds), progress)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        return _collect(pool.map(run, seeds), progress)


def means(results: Sequence[Result]) -> dict[str, Mean]:
    """The mean of every figure that all runs have."""
    found = {}
    for figure in FIGURES:
        values = [getattr(result, figure) for result in results]
        if None not in values:
            found[figure] = mean_of(values)
    return found


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of one figure over independent runs."""
    if len(values) < 2:
        return Mean(float(values[0]), None)
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Mean(float(np.mean(values)), t_quantile(len(values) - 1) * spread)


def _run(scenario: Scenario, policy: str | None, options: Mapping[str, Any] | None, series: bool, seed: int) -> Result:
    return simulate(scenario, policy, options, seed=seed, series=series)


def _collect(results: Any, progress: Callable[[int], None] | None) -> list[Result]:
    collected: list[Result] = []
    for result in results:
        collected.append(result)
        if progress is not None:
            progress(len(collected))
    return collected


def t_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's t (Cornish-Fisher expansion), within 0.5 % for 3 or more degrees of freedom."""
    exact = {1: 12.706, 2: 4.303}
    if degrees in exact:
        return exact[degrees]
    z = 1.959964
    g1 = (z**3 + z) / 4
    g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + g1 / degrees + g2 / degrees**2 + g3 / degrees**3
