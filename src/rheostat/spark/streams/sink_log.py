"""Sink log: the log of Spark's file sink, with the files of each published batch."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from rheostat.errors import PlantError
from rheostat.spark.streams.python_source import NOTHING_YET

_VERSION = "v1"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of a batch, and its size according to the log."""

    path: Path
    bytes: int


class SinkLog:
    """One entry for each batch of the writing query, under its number; those before `first` were removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries = folder / "_spark_metadata"
        numbers = sorted(self._numbers())
        self.first = numbers[0] if numbers else 0
        self._newest = numbers[-1] if numbers else NOTHING_YET

    def newest(self) -> int:
        """The number of the last entry. Safe to call from several threads."""
        newest = self._newest
        while self._entry(newest + 1).exists():
            newest += 1
        self._newest = newest
        return newest

    def published_s(self, number: int) -> float:
        """When the entry was made, in seconds since the epoch."""
        return self._entry(number).stat().st_mtime

    def files(self, number: int) -> list[PublishedFile]:
        """The files of one entry."""
        entry = self._entry(number)
        try:
            version, *lines = entry.read_text().splitlines()
        except FileNotFoundError:
            raise PlantError(
                f"batch {number} of the stream in {self.folder} is gone, the first that is left is {self.first}: "
                "a reader that lost its checkpoint cannot continue; start in a new directory"
            ) from None
        if version != _VERSION:
            raise PlantError(f"{entry} has version {version!r} of Spark's sink log; this needs {_VERSION!r}")
        return [self._file(json.loads(line)) for line in lines]

    def remove(self, until: int) -> None:
        """Delete the entries up to `until` and their files, but not the newest: the sink continues its numbers."""
        for number in range(self.first, min(until, self.newest() - 1) + 1):
            for file in self.files(number):
                _remove(file.path)
            _remove(self._entry(number))
            self.first = number + 1

    def remove_unpublished(self) -> None:
        """Delete files of a batch whose writer was killed before it was published. No writer may be active."""
        published = {file.path.name for number in self._numbers() for file in self.files(number)}
        for path in self.folder.glob("*.parquet"):
            if path.name not in published:
                _remove(path)

    def _entry(self, number: int) -> Path:
        return self._entries / str(number)

    def _numbers(self) -> Iterator[int]:
        if self._entries.exists():
            yield from (int(name) for name in os.listdir(self._entries) if name.isdigit())

    def _file(self, entry: dict[str, object]) -> PublishedFile:
        name = unquote(str(entry["path"]).rsplit("/", 1)[1])
        return PublishedFile(self.folder / name, int(str(entry["size"])))


def _remove(path: Path) -> None:
    """Delete a file, and the checksum that Hadoop's local file system may have written beside it."""
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
