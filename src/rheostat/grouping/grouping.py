"""Record grouping: the interface of all groupings, from values to numbers of executors."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigError

Values = npt.NDArray[np.integer]
"""The values of records, as integers; text is hashed before."""

Choices = npt.NDArray[np.int64]
"""The executor of each record, from 0 on."""


class RecordGrouping(Protocol):
    """Distributes records over executors."""

    @property
    def executors(self) -> int: ...

    def assign(self, values: Values) -> Choices:
        """The executor of each of `values`, in this order."""
        ...


def check_executors(executors: int) -> int:
    """`executors`, or an error if it is not a positive whole number."""
    if isinstance(executors, bool) or not isinstance(executors, int) or executors < 1:
        raise ConfigError(f"records cannot go to {executors!r} executors: give a whole number >= 1")
    return executors
