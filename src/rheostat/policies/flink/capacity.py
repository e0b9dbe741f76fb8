"""Capacity: the records per second that a pool should be able to process, and the executors that this takes."""

import math

import msgspec

_ROUNDING = 1e-9


class ProcessingDemand(msgspec.Struct, frozen=True):
    """What an operator has to process: its input in records per second, and what it has to catch up besides."""

    rate: float
    catch_up_rate: float = 0.0

    def capacity(self, utilisation: float, restart_share: float = 0.0) -> float:
        """Records per second at which `rate` keeps it busy for `utilisation` of the time, and it catches up.

        `restart_share` is the length of a restart over that of the catch-up: what arrives meanwhile counts as well.
        """
        if utilisation <= 0:
            return math.inf
        needed = self.catch_up_rate + self.rate * restart_share + self.rate / min(1.0, utilisation)
        return float(math.floor(needed + 0.5))


def scale_factor(capacity: float, true_rate: float, max_down: float, max_up: float) -> float:
    """By how much the executors have to be multiplied, within the largest step down and up."""
    factor = capacity / true_rate if true_rate > 0 else math.inf
    return max(1 - max_down, min(1 + max_up, factor))


def scaled(size: int, factor: float, least: int, most: int, substreams: int | None = None) -> int:
    """`size` times `factor`, rounded up; for a keyed operator to a number that divides its substreams, if one fits.

    More than half as many executors as substreams are never even, so that they stay as they are.
    """
    most = most if substreams is None else min(most, substreams)
    wanted = max(least, min(most, math.ceil(min(size * factor, most) - _ROUNDING)), 1)
    if substreams is None:
        return wanted
    even = (number for number in range(wanted, min(most, substreams // 2) + 1) if substreams % number == 0)
    return next(even, wanted)
