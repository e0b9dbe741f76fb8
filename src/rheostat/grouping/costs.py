"""Costs of records by value: OSG's pair of sketches, frequencies Φ and cumulated times Ω (DABS-Storm §5.2)."""

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigError
from rheostat.grouping.countmin import CountMin, Floats
from rheostat.grouping.grouping import Values
from rheostat.grouping.hashes import Hashes


class CostSketch:
    """Two Count-Min sketches with the same hashes; their quotient estimates the service time of a value."""

    def __init__(self, hashes: Hashes) -> None:
        self.counts, self.times_s = CountMin(hashes), CountMin(hashes)

    @property
    def hashes(self) -> Hashes:
        return self.counts.hashes

    @property
    def mean_s(self) -> float:
        """ΣΩ/ΣΦ: the mean over all records; 0 before the first."""
        return self.times_s.total / self.counts.total if self.counts.total else 0.0

    def learn(self, values: Values, seconds: npt.ArrayLike) -> None:
        """Add records with `values` that took `seconds`."""
        self.counts.add(values)
        self.times_s.add(values, seconds)

    def seconds(self, values: Values) -> Floats:
        """ŵ of each value: Ω/Φ where its Φ is smallest, which has the fewest collisions; the mean if that is 0."""
        counts, times_s = self.counts.at(values), self.times_s.at(values)
        row = counts.argmin(axis=0)[None, :]
        count, time_s = np.take_along_axis(counts, row, 0)[0], np.take_along_axis(times_s, row, 0)[0]
        return np.asarray(np.divide(time_s, count, out=np.full(len(count), self.mean_s), where=count > 0))

    def quotients(self) -> Floats:
        """Ω/Φ cell by cell, NaN for empty cells: a snapshot Ψ."""
        counts = self.counts.cells
        return np.asarray(np.divide(self.times_s.cells, counts, out=np.full(counts.shape, np.nan), where=counts > 0))

    def scaled(self, factor: float) -> "CostSketch":
        """The sketch of the same records if each had taken `factor` times as long."""
        other = CostSketch(self.hashes)
        other.counts.cells = self.counts.cells.copy()
        other.times_s.cells = self.times_s.cells * factor
        return other

    def merged(self, other: "CostSketch") -> "CostSketch":
        """The sketch of the records of both; they must have the same hashes."""
        if self.hashes != other.hashes:
            raise ConfigError("sketches with different hashes cannot be merged: give all executors the same")
        both = CostSketch(self.hashes)
        both.counts.cells = self.counts.cells + other.counts.cells
        both.times_s.cells = self.times_s.cells + other.times_s.cells
        return both
