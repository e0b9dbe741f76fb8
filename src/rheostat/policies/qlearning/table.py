"""Learned table: for each level of an operator's input rate, the value of each number of executors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from rheostat.errors import ConfigError

Values = tuple[float, ...]
"""Q of 1, 2, ... executors."""


class LearnedDegrees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator's table. Level i is that of rates from i · `step` up to (i + 1) · `step` records/s; None for a level
    that never came up in training."""

    step: Annotated[float, msgspec.Meta(gt=0)]
    levels: tuple[Values | None, ...]

    def degree(self, rate: float) -> int:
        """The best number of executors at `rate`, the fewest of equals.

        A level that was never seen is taken for the next higher one that was, or else for the highest.
        """
        seen = [level for level, values in enumerate(self.levels) if values]
        at = level_of(rate, self.step, len(self.levels))
        values = self.levels[min((level for level in seen if level >= at), default=seen[-1])]
        assert values is not None
        return values.index(max(values)) + 1

    def __post_init__(self) -> None:
        if not any(self.levels):
            raise ConfigError("a table needs at least one level with values: train it on a stream first")


Table = Mapping[str, LearnedDegrees]
"""By operator."""


def level_of(rate: float, step: float, levels: int) -> int:
    """The level of `rate`; the highest one for all that is above."""
    return min(int(max(rate, 0.0) / step), levels - 1)


def read_table(given: str | Mapping[str, object]) -> dict[str, LearnedDegrees]:
    """A table from the JSON file of that name, or from the content of such a file."""
    try:
        if isinstance(given, str):
            return msgspec.json.decode(Path(given).read_bytes(), type=dict[str, LearnedDegrees])
        return msgspec.convert(given, dict[str, LearnedDegrees])
    except OSError as error:
        raise ConfigError(f"table {given!r} cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise ConfigError(f"table {str(given)[:60]!r} is not a learned table: {error}") from None


def write_table(table: Table, path: Path) -> None:
    """As a file that `read_table` reads."""
    path.write_bytes(msgspec.json.encode(dict(table)))
