"""CSV files of two columns, with errors that name file, line and value."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TextIO

from rheostat.errors import LoadError

_LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Row:
    """One line of a file, its two fields as text."""

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


def read_pairs(path: str | PathLike[str], *headers: tuple[str, str]) -> tuple[str, list[Row]]:
    """The name of the first column and the rows of a file that starts with one of `headers`.

    Blank lines are skipped. Bytes that are not text are kept as escapes, so that errors name their line.
    """
    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig", errors="backslashreplace", newline="") as text:
            rows = _rows(file, text)
            first_column = _first_column(file, next(rows, None), headers)
            body = list(rows)
    except OSError as error:
        raise LoadError(f"{file} cannot be read: {error.strerror or error}") from error
    if not body:
        raise LoadError(f"{file} has no rows below its header")
    return first_column, body


def number_in(text: str) -> float | None:
    """`text` as a finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _rows(file: Path, text: TextIO) -> Iterator[Row]:
    lines = csv.reader(text)
    try:
        for fields in lines:
            if fields:
                yield _row(file, lines.line_num, fields)
    except csv.Error as error:
        raise LoadError(f"{file}, line {lines.line_num}: {error}") from error


def _row(file: Path, line: int, fields: list[str]) -> Row:
    if len(fields) != 2:
        found = f"{_shown(','.join(fields))} has {len(fields)} columns"
        raise LoadError(f"{file}, line {line}: {found}, not 2 with a comma between them")
    return Row(file, line, fields[0].strip(), fields[1].strip())


def _first_column(file: Path, head: Row | None, headers: tuple[tuple[str, str], ...]) -> str:
    wanted = " or ".join(repr(",".join(header)) for header in headers)
    if head is None:
        raise LoadError(f"{file} is empty: its first line must be {wanted}")
    found = (head.first.lower(), head.second.lower())
    if found not in headers:
        raise head.wrong("header", f"{head.first},{head.second}", wanted)
    return found[0]


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")
