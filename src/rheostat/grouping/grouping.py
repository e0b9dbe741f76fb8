"""What all groupings share: values in, numbers of executors out."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigError

Values = npt.NDArray[np.integer]
"""What records carry, as integers; text is hashed to one by whoever reads it."""

Choices = npt.NDArray[np.int64]
"""The executor of each record, from 0 on."""


class Grouping(Protocol):
    """A way to spread records over executors."""

    @property
    def executors(self) -> int: ...

    def assign(self, values: Values) -> Choices:
        """The executor of each of `values`, as if they came in this order."""
        ...


class OnlineGrouping(Grouping, Protocol):
    """A grouping that needs to see one record only. `assign` is the same as `choose` for one after the other."""

    def choose(self, value: int) -> int:
        """The executor of the next record, which carries `value`."""
        ...


def check_executors(executors: int) -> int:
    """`executors`, if records can be spread over so many."""
    if isinstance(executors, bool) or not isinstance(executors, int) or executors < 1:
        raise ConfigError(f"records cannot be spread over {executors!r} executors: give a whole number >= 1")
    return executors
