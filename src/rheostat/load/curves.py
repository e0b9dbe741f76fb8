"""Curves: step, ramp, sine, spike, progressive, diurnal, opening auction.

Rates are in tuples per second; durations are seconds or text such as "5m". Time 0 is the start of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from rheostat.duration import Duration, human, seconds
from rheostat.errors import LoadError
from rheostat.load.fields import Array, Finite, Parts, Period, Rate, Rates, Span, checked
from rheostat.load.shape import Shape, held, refuse_too_many

_DECAYS = np.array([0.0, 1, 2, 4, 8, 16, 32])
"""In time constants: pieces short enough to integrate an exponential decay until it vanishes."""
_Pair = Annotated[tuple[Any, Any], Meta(description="a pair: write [time, rate]")]


@dataclass(frozen=True)
class Step(Shape):
    """A rate that jumps: `steps` lists (time, rate), in order, the first at time 0."""

    steps: Sequence[tuple[Duration, float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _steps(self.steps, "Step steps"))

    def _rates(self, times_s: Array) -> Array:
        starts_s, levels = np.array(self.steps, dtype=np.float64).T
        return held(starts_s, levels, times_s)

    def breakpoints(self, until_s: float) -> Array:
        return np.array([seconds(start) for start, _ in self.steps])


@dataclass(frozen=True)
class Ramp(Shape):
    """A straight line from one rate to another; before and after, the rate it starts and ends with."""

    from_rate: Rate
    to_rate: Rate
    duration: Period
    start: Span = 0

    def _rates(self, times_s: Array) -> Array:
        done = _risen(times_s - seconds(self.start), seconds(self.duration))
        return self.from_rate * (1 - done) + self.to_rate * done

    def breakpoints(self, until_s: float) -> Array:
        return np.cumsum([seconds(self.start), seconds(self.duration)])


@dataclass(frozen=True)
class Sine(Shape):
    """`base` ± `amplitude`, rising from `base`; `phase` is the time already passed of its first period."""

    base: Rate
    amplitude: Rate
    period: Period
    phase: Span = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.amplitude > self.base:
            raise LoadError(
                f"Sine amplitude {self.amplitude:g} is more than its base {self.base:g}: the rate would fall below zero"
            )

    def _rates(self, times_s: Array) -> Array:
        period_s = seconds(self.period)
        cycle = np.mod(times_s + seconds(self.phase), period_s) / period_s
        return self.base + self.amplitude * np.sin(2 * np.pi * cycle)

    def breakpoints(self, until_s: float) -> Array:
        return _quarters("Sine period", seconds(self.period), seconds(self.phase), until_s)


@dataclass(frozen=True)
class Spike(Shape):
    """`base`, and `factor` times as much for `duration`; then back at once, or with time constant `decay`."""

    base: Rate
    factor: Rate
    at: Span
    duration: Span
    decay: Span = 0

    def _rates(self, times_s: Array) -> Array:
        at_s, decay_s = seconds(self.at), seconds(self.decay)
        lift = np.where(times_s < at_s, 0.0, _fading(times_s - at_s - seconds(self.duration), decay_s))
        return self.base * (1 + (self.factor - 1) * lift)

    def breakpoints(self, until_s: float) -> Array:
        at_s = seconds(self.at)
        return np.append(at_s, at_s + seconds(self.duration) + seconds(self.decay) * _DECAYS)


@dataclass(frozen=True)
class Band(Shape):
    """A rate that varies between `low` and `high`."""

    low: Rate
    high: Rate

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise LoadError(f"{type(self).__name__} low {self.low:g} is more than its high {self.high:g}")

    def between(self, level: Array) -> Array:
        """The rate at `level`, from 0 (low) to 1 (high)."""
        return self.low * (1 - level) + self.high * level


@dataclass(frozen=True)
class Progressive(Band):
    """Rise, plateau, fall: DABS-Storm's first stream (figure 11a)."""

    rise: Period
    plateau: Span
    fall: Period
    start: Span = 0

    def _rates(self, times_s: Array) -> Array:
        rise_s, fall_s = seconds(self.rise), seconds(self.fall)
        elapsed_s = times_s - seconds(self.start)
        remaining_s = rise_s + seconds(self.plateau) + fall_s - elapsed_s
        return self.between(np.minimum(_risen(elapsed_s, rise_s), _risen(remaining_s, fall_s)))

    def breakpoints(self, until_s: float) -> Array:
        return np.cumsum([seconds(each) for each in (self.start, self.rise, self.plateau, self.fall)])


@dataclass(frozen=True)
class Diurnal(Band):
    """A daily wave, highest at `peak_hour`, lowest twelve hours later; time 0 is midnight.

    `day` is the length of a day in the run: with "24m" an hour takes a minute.
    """

    peak_hour: Finite = 14.0
    day: Period = "24h"

    def _rates(self, times_s: Array) -> Array:
        day_s = seconds(self.day)
        cycle = np.mod(times_s, day_s) / day_s - self.peak_hour / 24
        return self.between((1 + np.cos(2 * np.pi * cycle)) / 2)

    def breakpoints(self, until_s: float) -> Array:
        day_s = seconds(self.day)
        return _quarters("Diurnal day", day_s, -self.peak_hour / 24 * day_s, until_s)


@dataclass(frozen=True)
class OpeningAuction(Shape):
    """A stock exchange's orders: each session opens with a spike that fades to `base`.

    One session for each of `factors`, each `session` long, the spike `factor` times the base. The defaults
    follow StreamSwitch §6 and figure 4: two sessions of two hours with spikes of 70 to 80 times the usual
    rate; with `base=935` they bring the 14.85 million orders of its trace.
    """

    base: Rate
    factors: Rates = (80, 70)
    decay: Period = "10s"
    session: Period = "2h"

    def _rates(self, times_s: Array) -> Array:
        session_s = seconds(self.session)
        opening = np.clip(times_s // session_s, 0, len(self.factors) - 1).astype(np.intp)
        lift = np.where(times_s < 0, 0.0, _fading(times_s - opening * session_s, seconds(self.decay)))
        return self.base * (1 + (np.array(self.factors)[opening] - 1) * lift)

    def breakpoints(self, until_s: float) -> Array:
        openings_s = seconds(self.session) * np.arange(len(self.factors))
        return (openings_s[:, None] + seconds(self.decay) * _DECAYS).ravel()


def _steps(given: object, what: str) -> tuple[tuple[float, float], ...]:
    """Pairs (seconds, rate) that start at 0, in order."""
    pairs = tuple(_step(checked(each, _Pair, what), what) for each in checked(given, Parts, what))
    if pairs[0][0] != 0:
        raise LoadError(f"{what} begin at {human(pairs[0][0])}: begin at 0, with the rate until then")
    for (before_s, _), (after_s, _) in pairwise(pairs):
        if after_s <= before_s:
            raise LoadError(f"{what} have {human(after_s)} after {human(before_s)}: give each time once, in order")
    return pairs


def _step(pair: tuple[object, object], what: str) -> tuple[float, float]:
    return checked(pair[0], Span, f"{what} time"), checked(pair[1], Rate, f"{what} rate")


def _risen(elapsed_s: Array, duration_s: float) -> Array:
    return np.clip(elapsed_s, 0.0, duration_s) / duration_s


def _fading(elapsed_s: Array, decay_s: float) -> Array:
    """1 before time 0, then falling to 0 with time constant `decay_s`; at once if that is zero."""
    if decay_s == 0:
        return np.where(elapsed_s < 0, 1.0, 0.0)
    with np.errstate(over="ignore"):  # the decay after a very long time is 0
        return np.asarray(np.exp(-np.maximum(elapsed_s, 0.0) / decay_s))


def _quarters(what: str, period_s: float, phase_s: float, until_s: float) -> Array:
    """The extrema and zero crossings of a wave, so that no piece is longer than a quarter of it."""
    refuse_too_many(what, period_s, until_s, breakpoints=4)
    quarter_s = period_s / 4
    first = np.ceil(phase_s / quarter_s)
    return np.arange(first, (until_s + phase_s) / quarter_s) * quarter_s - phase_s
