"""Skew of a load over keys or substreams: weights that sum to 1, the n-th is key n's share."""

from os import PathLike
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from rheostat.errors import LoadError
from rheostat.load.csv_columns import Row, read_pairs
from rheostat.load.fields import Count, Rate, Share, Whole, checked, series

Weights = npt.NDArray[np.float64]

_Several = Annotated[int, Meta(ge=2, description="a whole number >= 2")]

_LIMIT_ORDER_EXPONENT = 0.57


def uniform(keys: int) -> Weights:
    """The same weight for every key."""
    return np.full(checked(keys, Count, "keys"), 1 / keys)


def zipf(keys: int, exponent: float) -> Weights:
    """Key 0 is the most frequent, key n has weight 1/(n+1)^exponent of it; exponent 0 is uniform."""
    ranks = np.arange(1.0, checked(keys, Count, "keys") + 1)
    return _normalised(ranks ** -checked(exponent, Rate, "exponent"))


def hot_set(keys: int, fraction: float, load: float) -> Weights:
    """The first `fraction` of the keys (at least one) has the share `load` of the load, the others the rest."""
    hot = _count(checked(keys, _Several, "keys"), fraction)
    if hot == keys:
        raise LoadError(f"fraction {fraction!r} makes all {keys} keys hot: give a number < 1")
    weights = np.full(keys, (1 - checked(load, Share, "load")) / (keys - hot))
    weights[:hot] = load / hot
    return weights


def limit_orders(stocks: int = 1156) -> Weights:
    """A stock exchange's orders by stock: a power law as in StreamSwitch §6.

    Of its 1,156 stocks the heaviest has over 2 % of the orders, and the heaviest 1 % over 10 %.
    """
    return zipf(stocks, _LIMIT_ORDER_EXPONENT)


def table(weights: npt.ArrayLike) -> Weights:
    """The given weights or counts, made to sum to 1."""
    return _normalised(series(weights, "weights"))


def from_csv(path: str | PathLike[str]) -> Weights:
    """The counts of a file with the header `substream,count`: substreams 0 to n-1, each once."""
    rows = read_pairs(path, ("substream", "count"))
    counts = np.full(len(rows), np.nan)
    for row in rows:
        substream = _substream(row, len(rows))
        if not np.isnan(counts[substream]):
            raise row.wrong("substream", row.first, "new: list each one once")
        counts[substream] = row.amount("count")
    if not counts.any():
        raise LoadError(f"{path} counts nothing: all its counts are 0")
    return _normalised(counts)


def rotated(weights: Weights, by: int) -> Weights:
    """The same shares moved on by `by` keys, so that others become hot: key n's share goes to key n + by."""
    return np.roll(weights, checked(by, Whole, "by"))


def folded(weights: Weights, substreams: int) -> Weights:
    """The shares of substreams, if key n belongs to substream n modulo `substreams`."""
    homes = np.arange(len(weights)) % checked(substreams, Count, "substreams")
    return np.bincount(homes, weights=weights, minlength=substreams).astype(np.float64)


def _count(keys: int, fraction: float) -> int:
    # 0.29 * 100 is a hair below 29
    return max(1, int(keys * checked(fraction, Share, "fraction") * (1 + 1e-12)))


def _normalised(weights: Weights) -> Weights:
    total = float(weights.sum())
    if not 0 < total < np.inf:
        raise LoadError(f"weights {weights} cannot be made to sum to 1: their sum is {total:g}")
    return np.asarray(weights / total)


def _substream(row: Row, count: int) -> int:
    if not (row.first.isdecimal() and int(row.first) < count):
        raise row.wrong("substream", row.first, f"a whole number from 0 to {count - 1}")
    return int(row.first)
