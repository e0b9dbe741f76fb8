"""Recent costs: what records of each value cost, learned in the executors while they work (OSG's pair of sketches).

Each task has a pair of its own, which comes back with its timings and is merged on the driver. So there is no second
pass over the data, and a few kilobytes per task, however many values there are.

A value of any type is known by the hash that Spark gives it, so that learning and grouping agree.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as sf

from rheostat.grouping import CostSketch, sketch_hashes
from rheostat.grouping.grouping import Values

VALUE = "__cost_value"
"""The hidden column that brings the hashes of values to a function on single records."""

REMEMBERED = 32 * 1024
"""After so many new records the older ones are forgotten, since costs change."""

# DABS-Storm uses 0.05 for sketches that cross the network while records flow. Here 13 kB come back with each task.
_EPSILON, _DELTA = 0.01, 0.05


def value_of(column: str) -> Column:
    """The hashes of the values in `column`, by which sketches know them."""
    return sf.xxhash64(sf.col(f"`{column}`"))


def empty_sketch() -> CostSketch:
    """All sketches have the same hash functions; otherwise they could not be merged."""
    return CostSketch(sketch_hashes(_EPSILON, _DELTA, np.random.default_rng(0)))


@dataclass(frozen=True, slots=True)
class RecentCosts:
    """The costs of the last records: between one and two times `REMEMBERED`, or all while there are fewer."""

    older: CostSketch
    newer: CostSketch

    @classmethod
    def learned(cls, values: Values, seconds: npt.ArrayLike) -> "RecentCosts":
        """The costs of records with these `values`."""
        sketch = empty_sketch()
        sketch.learn(values, seconds)
        return cls(empty_sketch(), sketch)

    @property
    def sketch(self) -> CostSketch:
        return self.older.merged(self.newer)

    def and_then(self, later: "RecentCosts | None") -> "RecentCosts":
        """These costs and those learned `later`."""
        if later is None:
            return self
        newer = self.newer.merged(later.sketch)
        if newer.counts.total < REMEMBERED:
            return RecentCosts(self.older, newer)
        return RecentCosts(newer, empty_sketch())
