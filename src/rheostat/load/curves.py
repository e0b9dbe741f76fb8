"""The named curves: step, ramp, sine, spike, progressive, diurnal, opening auction.

Rates are in tuples per second; durations are seconds or text such as "5m". Time 0 is the start of the run.
"""

# ruff: noqa: RUF009 - the calls beside the fields make descriptors, see field.py

from dataclasses import dataclass

import numpy as np

from rheostat.errors import LoadError
from rheostat.load.field import Amount, Amounts, Array, Finite, Period, Span, Steps
from rheostat.load.shape import Shape, held

_DECAYS = np.array([0.0, 1, 2, 4, 8, 16, 32])
"""In time constants: pieces short enough to integrate an exponential decay to its vanishing."""


@dataclass(frozen=True)
class Step(Shape):
    """A rate that jumps: `steps` lists (time, rate), in order, the first at time 0."""

    steps: Steps = Steps()

    def _rates(self, times_s: Array) -> Array:
        starts_s, levels = np.array(self.steps).T
        return held(starts_s, levels, times_s)

    def turns(self, until_s: float) -> Array:
        return np.array([start_s for start_s, _ in self.steps])


@dataclass(frozen=True)
class Ramp(Shape):
    """A straight line from one rate to another; before and after, the rate it starts and ends with."""

    from_rate: Amount = Amount()
    to_rate: Amount = Amount()
    duration: Period = Period()
    start: Span = Span(0)

    def _rates(self, times_s: Array) -> Array:
        done = _risen(times_s - self.start, self.duration)
        return self.from_rate * (1 - done) + self.to_rate * done

    def turns(self, until_s: float) -> Array:
        return np.array([self.start, self.start + self.duration])


@dataclass(frozen=True)
class Sine(Shape):
    """`base` ± `amplitude`, rising from `base`; `phase` is how far into its period it starts."""

    base: Amount = Amount()
    amplitude: Amount = Amount()
    period: Period = Period()
    phase: Span = Span(0)

    def __post_init__(self) -> None:
        if self.amplitude > self.base:
            raise LoadError(
                f"Sine amplitude {self.amplitude:g} is more than its base {self.base:g}: the rate would fall below zero"
            )

    def _rates(self, times_s: Array) -> Array:
        turn = np.mod(times_s + self.phase, self.period) / self.period
        return self.base + self.amplitude * np.sin(2 * np.pi * turn)

    def turns(self, until_s: float) -> Array:
        return _quarters(self.period, self.phase, until_s)


@dataclass(frozen=True)
class Spike(Shape):
    """`base`, and `factor` times as much for `duration`; then back at once, or with time constant `decay`."""

    base: Amount = Amount()
    factor: Amount = Amount()
    at: Span = Span()
    duration: Span = Span()
    decay: Span = Span(0)

    def _rates(self, times_s: Array) -> Array:
        lift = np.where(times_s < self.at, 0.0, _fading(times_s - self.at - self.duration, self.decay))
        return self.base * (1 + (self.factor - 1) * lift)

    def turns(self, until_s: float) -> Array:
        return np.append(self.at, self.at + self.duration + self.decay * _DECAYS)


@dataclass(frozen=True)
class Band(Shape):
    """What varies between a `low` and a `high` rate."""

    low: Amount = Amount()
    high: Amount = Amount()

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise LoadError(f"{type(self).__name__} low {self.low:g} is more than its high {self.high:g}")

    def between(self, level: Array) -> Array:
        """The rate at `level`, from 0 (low) to 1 (high)."""
        return self.low * (1 - level) + self.high * level


@dataclass(frozen=True)
class Progressive(Band):
    """Rise, plateau, fall: DABS-Storm's first stream (figure 11a)."""

    rise: Period = Period()
    plateau: Span = Span()
    fall: Period = Period()
    start: Span = Span(0)

    def _rates(self, times_s: Array) -> Array:
        elapsed_s = times_s - self.start
        remaining_s = self.rise + self.plateau + self.fall - elapsed_s
        return self.between(np.minimum(_risen(elapsed_s, self.rise), _risen(remaining_s, self.fall)))

    def turns(self, until_s: float) -> Array:
        return np.cumsum([self.start, self.rise, self.plateau, self.fall])


@dataclass(frozen=True)
class Diurnal(Band):
    """A day's wave, highest at `peak_hour`, lowest twelve hours away; time 0 is midnight.

    `day` is how long a day lasts in the run: "24m" lets an hour pass in a minute.
    """

    peak_hour: Finite = Finite(14)
    day: Period = Period("24h")

    def _rates(self, times_s: Array) -> Array:
        turn = np.mod(times_s, self.day) / self.day - self.peak_hour / 24
        return self.between((1 + np.cos(2 * np.pi * turn)) / 2)

    def turns(self, until_s: float) -> Array:
        return _quarters(self.day, -self.peak_hour / 24 * self.day, until_s)


@dataclass(frozen=True)
class OpeningAuction(Shape):
    """A stock exchange's orders: each session opens with a spike that fades to `base`.

    One session for each of `factors`, each `session` long, the spike `factor` times the base. The defaults
    follow StreamSwitch §6 and figure 4: two sessions of two hours with spikes of 70 to 80 times the usual
    rate; with `base=935` they bring the 14.85 million orders of its trace.
    """

    base: Amount = Amount()
    factors: Amounts = Amounts((80, 70))
    decay: Period = Period("10s")
    session: Period = Period("2h")

    def _rates(self, times_s: Array) -> Array:
        opening = np.clip(times_s // self.session, 0, len(self.factors) - 1).astype(np.intp)
        lift = np.where(times_s < 0, 0.0, _fading(times_s - opening * self.session, self.decay))
        return self.base * (1 + (np.array(self.factors)[opening] - 1) * lift)

    def turns(self, until_s: float) -> Array:
        openings_s = self.session * np.arange(len(self.factors))
        return (openings_s[:, None] + self.decay * _DECAYS).ravel()


def _risen(elapsed_s: Array, duration_s: float) -> Array:
    return np.clip(elapsed_s, 0.0, duration_s) / duration_s


def _fading(elapsed_s: Array, decay_s: float) -> Array:
    """1 before time 0, then falling to 0 with time constant `decay_s`; at once if that is zero."""
    if decay_s == 0:
        return np.where(elapsed_s < 0, 1.0, 0.0)
    with np.errstate(over="ignore"):  # an infinitely long time ago is 0, as it should be
        return np.asarray(np.exp(-np.maximum(elapsed_s, 0.0) / decay_s))


def _quarters(period_s: float, phase_s: float, until_s: float) -> Array:
    """Where a wave turns and crosses its middle, so that no piece is longer than a quarter of it."""
    quarter_s = period_s / 4
    first = np.ceil(phase_s / quarter_s)
    return np.arange(first, (until_s + phase_s) / quarter_s) * quarter_s - phase_s
