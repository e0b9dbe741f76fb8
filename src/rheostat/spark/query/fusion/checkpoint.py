"""Spark's checkpoint of a query that reads one stream: where the query stopped, and how another goes on from there.

offsets/N  what batch N reads up to: a version, the watermark and settings of the query, a line for each source
commits/N  that batch N is done
state/     what keyed operators remember, under the number of the batch that comes next
metadata   the query's identity

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
from rheostat.spark.streams.source import NOTHING_YET

_VERSION = "v1"
_NOTHING = "-"
"""As Spark writes it where a source has not been read yet."""

FEWEST_BATCHES = 2


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a query stopped: its last batch, the position up to which that one read, and what Spark wrote of it."""

    folder: Path
    batch: int
    position: int
    settings: str
    commit: str


def stop_of(folder: Path) -> Stop:
    """Of the query with this checkpoint, which must not run. One that stopped within a batch is refused."""
    begun, done = _newest(folder / "offsets"), _newest(folder / "commits")
    if begun is None or begun + 1 < FEWEST_BATCHES:
        raise PlantError(
            f"the query in {folder.name} has had fewer than {FEWEST_BATCHES} batches: too few to go on from"
        )
    if begun != done:
        raise PlantError(f"the query in {folder.name} stopped within batch {begun}: it must finish that first")
    version, settings, *positions = (folder / "offsets" / str(begun)).read_text().splitlines()
    if version != _VERSION or len(positions) != 1 or not (positions[0].isdecimal() or positions[0] == _NOTHING):
        raise PlantError(
            f"{folder / 'offsets' / str(begun)} has version {version!r} and positions {positions}: "
            f"this needs {_VERSION!r} and one whole number"
        )
    commit = (folder / "commits" / str(begun)).read_text()
    return Stop(folder, begun, NOTHING_YET if positions[0] == _NOTHING else int(positions[0]), settings, commit)


def begin_after(stop: Stop, folder: Path, batch: int, position: int, *, keep_state: bool) -> None:
    """Make `folder` the checkpoint of a query that goes on behind `batch` and behind `position` of its stream.

    All else is as where the other one stopped; its state goes along with `keep_state`, which needs the same `batch`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if keep_state:
        _link_all(stop.folder / "state", folder / "state")
    _write(folder / "metadata", json.dumps({"id": str(uuid4())}))
    for number, until in ((batch - 1, position - 1), (batch, position)):
        line = _NOTHING if until <= NOTHING_YET else str(until)
        _write(folder / "offsets" / str(number), f"{_VERSION}\n{stop.settings}\n{line}")
    _write(folder / "commits" / str(batch), stop.commit)


def has_batches_enough(folder: Path) -> bool:
    """Whether another query could go on from this checkpoint, once the one that runs has stopped."""
    done = _newest(folder / "commits")
    return done is not None and done + 1 >= FEWEST_BATCHES


def has_state(folder: Path) -> bool:
    """Whether the query with this checkpoint remembers anything between batches."""
    return any(path.is_file() for path in (folder / "state").rglob("*"))


def _newest(folder: Path) -> int | None:
    names = os.listdir(folder) if folder.exists() else []
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _link_all(source: Path, target: Path) -> None:
    """The same files in another place. Spark never changes one, and may remove old ones meanwhile."""
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
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
