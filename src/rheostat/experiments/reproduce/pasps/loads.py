"""Loads: the paper's four inputs, generated, or read from recorded traces that stand for its data.

The package does not include the Twitter, DNS and log data. The generated inputs follow the paper's description: smooth
waves of different heights with a mean of 0.4 of the peak (one of eight replicas processes a third); the same without
smoothing; DNS traffic that varies within intervals but little between them; logs with short high peaks. The speed of
variation is chosen to match the errors that the paper prints for Basic: 0.18, 0.31, 0.09 and 0.25.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.experiments.reproduce.reproduction import Effort
from rheostat.experiments.trace_samples import samples_of
from rheostat.load import Trace
from rheostat.load.fields import Array

_SEED = 2024


@dataclass(frozen=True)
class Input:
    """One of the paper's inputs: a generator for a given number of seconds, and the recorded trace to use instead."""

    name: str
    generate: Callable[[int], Array]
    trace: str

    def rates(self, duration_s: int, effort: Effort) -> Array:
        """Events per second for each second, with a peak of 1. One row of a trace is one second."""
        if effort.traces is None:
            rates = self.generate(duration_s)
        else:
            rates = samples_of(Trace.from_csv(Path(effort.traces) / self.trace))[:duration_s]
        return np.asarray(rates / rates.max())


def recorded(load: str, effort: Effort) -> str | None:
    """The file with the recorded input, or None if it is generated."""
    return None if effort.traces is None else INPUTS[load].trace


def load_of(rates: Array, peak: float) -> dict[str, Any]:
    """`rates` as the load of a scenario."""
    return {"shape": "step", "steps": [[second, float(peak * rate)] for second, rate in enumerate(rates)]}


def waves(duration_s: int) -> Array:
    """Peaks and troughs of different heights, joined smoothly."""
    rng = np.random.default_rng(_SEED)
    count = duration_s // 120 + 3
    heights = np.where(np.arange(count) % 2, rng.uniform(0.3, 1.0, count), rng.uniform(0.05, 0.25, count))
    moments = np.concatenate(([0.0], np.cumsum(rng.uniform(220, 360, count - 1))))
    return _smooth(moments, heights, np.arange(float(duration_s)))


def unsmoothed(duration_s: int) -> Array:
    """The waves with noise that is correlated over some seconds."""
    rng = np.random.default_rng(_SEED + 1)
    return waves(duration_s) * np.exp(0.35 * _correlated(rng, duration_s, 0.95))


def swings(duration_s: int) -> Array:
    """A square wave with a period of 25 s around a slowly drifting level."""
    rng = np.random.default_rng(_SEED + 2)
    fast = np.where(np.arange(duration_s) % 25 < 10, 1.0, 0.35)
    slow = 1 + 0.12 * np.sin(np.arange(duration_s) / 90)
    return fast * slow * np.exp(0.12 * _correlated(rng, duration_s, 0.5))


def peaks(duration_s: int) -> Array:
    """A base level, with a high peak of some seconds every minute or two."""
    rng = np.random.default_rng(_SEED + 3)
    rates = 0.3 * np.exp(0.2 * _correlated(rng, duration_s, 0.95))
    second = 60
    while second < duration_s:
        length = int(rng.integers(4, 12))
        rates[second : second + length] += rng.uniform(0.2, 0.8)
        second += int(rng.integers(50, 150))
    return rates


INPUTS: Mapping[str, Input] = {
    each.name: each
    for each in (
        Input("twitter", waves, "pa-sps-poisson.csv"),
        Input("raw twitter", unsmoothed, "twitter_volume_amzn.csv"),
        Input("dns", swings, "elb_request_count_8c0756.csv"),
        Input("logs", peaks, "twitter_volume_fb.csv"),
    )
}


def _smooth(moments: Array, heights: Array, at: Array) -> Array:
    """Half a cosine from each height to the next."""
    index = np.clip(np.searchsorted(moments, at, side="right") - 1, 0, len(moments) - 2)
    share = (at - moments[index]) / (moments[index + 1] - moments[index])
    weight = (1 - np.cos(np.pi * share)) / 2
    return np.asarray(heights[index] * (1 - weight) + heights[index + 1] * weight)


def _correlated(rng: np.random.Generator, count: int, memory: float) -> Array:
    """Autocorrelated noise of deviation 1; `memory` is its correlation after one second."""
    steps = rng.normal(0.0, np.sqrt(1 - memory**2), count)
    noise = np.empty(count)
    level = rng.normal()
    for second in range(count):
        level = memory * level + steps[second]
        noise[second] = level
    return noise
