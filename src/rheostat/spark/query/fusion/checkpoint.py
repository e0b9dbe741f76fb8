"""Checkpoint: where a query that reads one stream stopped, and a checkpoint for another that continues from there.

The files are Spark's own:

offsets/N  how far batch N reads: a version, the watermark and settings of the query, a line for each source
commits/N  written when batch N is committed
state/     the state of keyed operators, under the number of the next batch
metadata   the query's id

On restart Spark asks the source once more for what the last batch read, hence two entries in `offsets`.
"""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from rheostat.errors import PlantError
from rheostat.spark.streams.python_source import NOTHING_YET

_VERSION = "v1"
_NO_POSITION = "-"
"""What Spark writes for a source that has not been read yet."""

FEWEST_BATCHES = 2


@dataclass(frozen=True, slots=True)
class StopPoint:
    """Where a query stopped: its last batch, the position that it read up to, and Spark's entries for it."""

    folder: Path
    batch: int
    position: int
    settings: str
    commit: str


def stop_point_of(folder: Path) -> StopPoint:
    """Where the query with this checkpoint stopped; it must not run. One that stopped within a batch is refused."""
    begun, done = _newest(folder / "offsets"), _newest(folder / "commits")
    if begun is None or begun + 1 < FEWEST_BATCHES:
        raise PlantError(
            f"the query in {folder.name} has had fewer than {FEWEST_BATCHES} batches: too few to continue from"
        )
    if begun != done:
        raise PlantError(f"the query in {folder.name} stopped within batch {begun}: it must finish that first")
    version, settings, *positions = (folder / "offsets" / str(begun)).read_text().splitlines()
    if version != _VERSION or len(positions) != 1 or not (positions[0].isdecimal() or positions[0] == _NO_POSITION):
        raise PlantError(
            f"{folder / 'offsets' / str(begun)} has version {version!r} and positions {positions}: "
            f"this needs {_VERSION!r} and one whole number"
        )
    commit = (folder / "commits" / str(begun)).read_text()
    position = NOTHING_YET if positions[0] == _NO_POSITION else int(positions[0])
    return StopPoint(folder, begun, position, settings, commit)


def write_checkpoint(folder: Path, stop: StopPoint, batch: int, position: int, *, keep_state: bool) -> None:
    """Make `folder` the checkpoint of a query that continues after `batch` and after `position` of its stream.

    Everything else is taken over from `stop`. `keep_state` takes over the state too; `batch` must then be the same.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if keep_state:
        _link_all(stop.folder / "state", folder / "state")
    _write(folder / "metadata", json.dumps({"id": str(uuid4())}))
    for number, until in ((batch - 1, position - 1), (batch, position)):
        line = _NO_POSITION if until <= NOTHING_YET else str(until)
        _write(folder / "offsets" / str(number), f"{_VERSION}\n{stop.settings}\n{line}")
    _write(folder / "commits" / str(batch), stop.commit)


def has_enough_batches(folder: Path) -> bool:
    """Whether another query could continue from this checkpoint, once the one that runs has stopped."""
    done = _newest(folder / "commits")
    return done is not None and done + 1 >= FEWEST_BATCHES


def has_state(folder: Path) -> bool:
    """Whether the query with this checkpoint keeps state between batches."""
    return any(path.is_file() for path in (folder / "state").rglob("*"))


def _newest(folder: Path) -> int | None:
    names = os.listdir(folder) if folder.exists() else []
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _link_all(source: Path, target: Path) -> None:
    """Link all files of a folder. Spark never changes one, but may remove old ones in the meantime."""
    for parent, _, files in os.walk(source):
        copy = target / Path(parent).relative_to(source)
        copy.mkdir(parents=True, exist_ok=True)
        for name in files:
            with suppress(FileNotFoundError):
                _link(Path(parent, name), copy / name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
