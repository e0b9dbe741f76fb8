"""What records of each value cost, learned in the executors while they work: OSG's pair of sketches on Spark.

Each task has a pair of its own, which comes back with its timings and is merged on the driver: no second pass over the
data, and a few kilobytes for a task, however many values there are.

A value of any type counts as the hash that Spark gives it, so that those who learn and those who spread rows agree.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as sf

from rheostat.grouping import CostSketch, sketch_hashes
from rheostat.grouping.grouping import Values

VALUE = "__cost_value"
"""The hidden column by which the hashes of values come to a function on single records."""

REMEMBERED = 32 * 1024
"""Once so many records have been learned anew, those before are forgotten: costs change."""

# DABS-Storm sends sketches with 0.05 over the network while records flow. Here 13 kB ride with the end of a task.
_EPSILON, _DELTA = 0.01, 0.05


def value_of(column: str) -> Column:
    """The values of `column` as sketches know them."""
    return sf.xxhash64(sf.col(f"`{column}`"))


def empty_sketch() -> CostSketch:
    """With the hashes that all tasks of all operators share: otherwise they could not be merged."""
    return CostSketch(sketch_hashes(_EPSILON, _DELTA, np.random.default_rng(0)))


@dataclass(frozen=True, slots=True)
class RecentCosts:
    """What the last records cost: between one and two times `REMEMBERED` of them, all while there are fewer."""

    older: CostSketch
    newer: CostSketch

    @classmethod
    def learned(cls, values: Values, seconds: npt.ArrayLike) -> "RecentCosts":
        """Of records with these `values`."""
        sketch = empty_sketch()
        sketch.learn(values, seconds)
        return cls(empty_sketch(), sketch)

    @property
    def sketch(self) -> CostSketch:
        return self.older.merged(self.newer)

    def and_then(self, later: "RecentCosts | None") -> "RecentCosts":
        """These, and what was learned `later`."""
        if later is None:
            return self
        newer = self.newer.merged(later.sketch)
        if newer.counts.total < REMEMBERED:
            return RecentCosts(self.older, newer)
        return RecentCosts(newer, empty_sketch())
