"""CSV columns: two columns of a CSV file, found by their names, with errors that name file, line and value."""

import csv
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TextIO

from rheostat.errors import LoadError, nearest

_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Row:
    """One line of a file: its fields in the two columns, as text."""

    path: Path
    line: int
    first: str
    second: str

    def wrong(self, column: str, value: str, right: str) -> LoadError:
        """The error to raise for `value` in `column`; `right` says what it should be."""
        return LoadError(f"{self.path}, line {self.line}: {column} {_shown(value)} is not {right}")

    def amount(self, column: str) -> float:
        """The second field as a finite number >= 0."""
        number = number_in(self.second)
        if number is None or number < 0:
            raise self.wrong(column, self.second, "a finite number >= 0")
        return number


@dataclass(frozen=True)
class Columns:
    """The names of the two columns, and their rows."""

    first: str
    second: str
    rows: list[Row]


def read_pairs(path: str | PathLike[str], header: tuple[str, str]) -> list[Row]:
    """The rows of a file that has these two columns and no others."""
    file = Path(path)
    lines = _read(file)
    line, names = next(lines, (1, []))
    if tuple(name.lower() for name in names) != header:
        raise LoadError(f"{file}, line {line}: header {_shown(','.join(names))} is not {','.join(header)!r}")
    return _rows(file, lines, 2, (0, 1))


def read_series(path: str | PathLike[str], times: Sequence[str], column: str | None = None) -> Columns:
    """The column called as one of `times` (the first there is), and the one called `column`.

    Without `column` it is the only other one; several are an error that lists them.
    """
    file = Path(path)
    lines = _read(file)
    line, names = next(lines, (1, []))
    if not names:
        raise LoadError(f"{file} is empty: its first line must name its columns, e.g. '{times[0]},value'")
    where, lower = f"{file}, line {line}", [name.lower() for name in names]
    first = next((lower.index(name) for name in times if name in lower), None)
    if first is None:
        wanted = " or ".join(map(repr, times))
        raise LoadError(
            f"{where}: header {_shown(','.join(names))} has no column {wanted}; columns are separated by a comma"
        )
    second = _other_column(where, names, first, column)
    return Columns(names[first], names[second], _rows(file, lines, len(names), (first, second)))


def number_in(text: str) -> float | None:
    """`text` as a finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _other_column(where: str, names: Sequence[str], first: int, column: str | None) -> int:
    others = [index for index in range(len(names)) if index != first]
    known = ", ".join(names[index] for index in others)
    if not others:
        raise LoadError(f"{where}: the only column is {names[first]!r}; there must be another one with values")
    if column is None and len(others) > 1:
        raise LoadError(f"{where}: name the column to use, as `column`, one of {_cut(known)}")
    if column is None:
        return others[0]
    found = [index for index in others if names[index].lower() == column.strip().lower()]
    if not found:
        raise LoadError(f"{where}: there is no column {column!r}; {nearest(column, _named(names, others))}")
    return found[0]


def _named(names: Sequence[str], indices: Collection[int]) -> list[str]:
    return [names[index] for index in indices]


def _read(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each line that is not blank. Bytes that are not text are kept as escapes, so that
    errors name their line."""
    try:
        with file.open(encoding="utf-8-sig", errors="backslashreplace", newline="") as text:
            yield from _lines(file, text)
    except OSError as error:
        raise LoadError(f"{file} cannot be read: {error.strerror or error}") from error


def _lines(file: Path, text: TextIO) -> Iterator[tuple[int, list[str]]]:
    lines = csv.reader(text)
    try:
        for fields in lines:
            if fields:
                yield lines.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise LoadError(f"{file}, line {lines.line_num}: {error}") from error


def _rows(file: Path, lines: Iterator[tuple[int, list[str]]], columns: int, wanted: tuple[int, int]) -> list[Row]:
    rows: list[Row] = []
    for line, fields in lines:
        if len(fields) != columns:
            found = f"{_shown(','.join(fields))} has {len(fields)} columns"
            raise LoadError(f"{file}, line {line}: {found}, not {columns} with commas between them")
        rows.append(Row(file, line, fields[wanted[0]], fields[wanted[1]]))
    if not rows:
        raise LoadError(f"{file} has no rows below its header")
    return rows


def _shown(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
