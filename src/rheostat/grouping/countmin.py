"""Count-Min sketch (Cormode and Muthukrishnan 2005): sums by value in little memory, never too small."""

import numpy as np
import numpy.typing as npt

from rheostat.grouping.grouping import Values
from rheostat.grouping.hashes import Hashes

Floats = npt.NDArray[np.float64]


class CountMin:
    """Adds amounts to values. The least cell of a value is never below its sum, and above it by more than ε times the
    sum of all amounts with probability at most δ, if `hashes` are those of `sketch_hashes(ε, δ)`."""

    def __init__(self, hashes: Hashes, cells: Floats | None = None) -> None:
        self.hashes = hashes
        self.cells = np.zeros((hashes.rows, hashes.columns)) if cells is None else cells

    @property
    def total(self) -> float:
        """The sum of all amounts: each row holds all of them."""
        return float(self.cells[0].sum())

    def add(self, values: Values, amounts: npt.ArrayLike = 1.0) -> None:
        """Add to each of `values` its amount (>= 0)."""
        columns = self.hashes.columns_of(values)
        weights = np.broadcast_to(np.asarray(amounts, dtype=float), columns.shape[1:])
        for row, where in zip(self.cells, columns, strict=True):
            row += np.bincount(where, weights, self.hashes.columns)

    def at(self, values: Values) -> Floats:
        """The cells of each value, a row for each hash function."""
        return np.take_along_axis(self.cells, self.hashes.columns_of(values), axis=1)
