"""The log of Spark's file sink: which files were published together, in which order."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from rheostat.errors import PlantError
from rheostat.spark.streams.source import NOTHING_YET

_VERSION = "v1"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of a batch and the size the sink wrote."""

    path: Path
    bytes: int


class SinkLog:
    """Entries are numbered like the batches of the writing query; those before `first` were removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries = folder / "_spark_metadata"
        numbers = sorted(self._numbers())
        self.first = numbers[0] if numbers else 0
        self._newest = numbers[-1] if numbers else NOTHING_YET

    def newest(self) -> int:
        """The number of the last entry. Several threads may ask at once."""
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
                "a reader that lost its checkpoint cannot go on; start in a fresh directory"
            ) from None
        if version != _VERSION:
            raise PlantError(f"{entry} has version {version!r} of Spark's sink log; this needs {_VERSION!r}")
        return [self._file(json.loads(line)) for line in lines]

    def remove(self, until: int) -> None:
        """Forget the entries up to `until` and delete their files. The newest stays: the sink counts on from it."""
        for number in range(self.first, min(until, self.newest() - 1) + 1):
            for file in self.files(number):
                _remove(file.path)
            _remove(self._entry(number))
            self.first = number + 1

    def remove_unpublished(self) -> None:
        """Delete what a writer that was killed in the middle of a batch left behind. No writer may be active."""
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
    """With the checksum that Hadoop's local file system may have put beside it."""
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
