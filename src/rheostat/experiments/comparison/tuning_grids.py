"""Tuning grids: the settings of each policy from which the best one is taken on separate seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

TUNING_SEEDS = (1000, 1001)

GRIDS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "threshold": ({"high": 0.6}, {"high": 0.7}),
}
