"""Smoothing: the two ways of DRS (section IV-A), or none. What was not measured is skipped, not counted as zero."""

import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from rheostat.errors import ConfigError


class Smoother(Protocol):
    """Smooths one quantity from period to period."""

    def update(self, value: float | None) -> float | None:
        """The smoothed quantity after one more measurement; None when nothing recent is known."""
        ...


class Unsmoothed:
    """Each measurement as it is."""

    def update(self, value: float | None) -> float | None:
        return value


class AlphaWeighted:
    """D(n) = α·D(n−1) + (1−α)·d(n), started at the first measurement.

    A gap as long as the average's memory, 1/(1−α) measurements, makes the quantity unknown, and it starts again.
    """

    def __init__(self, alpha: float) -> None:
        if not 0 <= alpha < 1:
            raise ConfigError(f"smoothing alpha {alpha!r} must be at least 0 and below 1")
        self._alpha = alpha
        self._longest_gap = math.ceil(1 / (1 - alpha) - 1e-9)
        self._smoothed: float | None = None
        self._gap = 0

    def update(self, value: float | None) -> float | None:
        if value is None:
            return self._skip()
        self._gap = 0
        old = value if self._smoothed is None else self._smoothed
        self._smoothed = self._alpha * old + (1 - self._alpha) * value
        return self._smoothed

    def _skip(self) -> float | None:
        self._gap += 1
        if self._gap >= self._longest_gap:
            self._smoothed = None
        return self._smoothed


class WindowMean:
    """D(n) = the mean of what was measured in the last `size` periods."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ConfigError(f"smoothing window {size!r} must be a whole number of periods >= 1")
        self._recent: deque[float | None] = deque(maxlen=size)

    def update(self, value: float | None) -> float | None:
        self._recent.append(value)
        known = [one for one in self._recent if one is not None]
        return math.fsum(known) / len(known) if known else None


def parse_smoothing(text: str) -> Callable[[], Smoother]:
    """A factory of smoothers from "none", "alpha:0.8" (α) or "window:6" (w)."""
    kind, _, argument = text.strip().partition(":")
    try:
        if kind == "alpha":
            alpha = float(argument)
            AlphaWeighted(alpha)
            return lambda: AlphaWeighted(alpha)
        if kind == "window":
            size = int(argument)
            WindowMean(size)
            return lambda: WindowMean(size)
    except ValueError:
        raise _unreadable(text) from None
    if kind == "none" and not argument:
        return Unsmoothed
    raise _unreadable(text)


def _unreadable(text: str) -> ConfigError:
    return ConfigError(f'smoothing {text!r} is not known: write "none", "alpha:0.8" or "window:6"')
