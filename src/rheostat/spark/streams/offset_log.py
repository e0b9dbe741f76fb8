"""Offset log: numbered positions in a Kafka topic, in a folder of the run directory.

Spark's log of a query has one number for each stream; a position in a topic is one number for each partition. An entry
is written before Spark hears of its number, so the same number means the same records after a restart.
"""

import os
from pathlib import Path

import msgspec

from rheostat.errors import PlantError
from rheostat.spark.kafka.broker_client import Offsets, offsets_from_json
from rheostat.spark.streams.python_source import NOTHING_YET


class RowStatistics(msgspec.Struct, frozen=True):
    """Of one output: its `rows`, and when those of which it is `known` entered, as `EntryTimes` has it."""

    rows: int
    known: int = 0
    mean_s: float = 0.0
    first_s: float = 0.0
    last_s: float = 0.0


class OffsetEntry(msgspec.Struct, frozen=True):
    """The records from `start` to `end` (JSON as Spark's connector has it), which were there at `published_s`.

    Only records that carry `attempt` belong to the entry, if it names one. `outputs` are the statistics of each output
    by name, "" for the only one.
    """

    start: str
    end: str
    published_s: float
    outputs: dict[str, RowStatistics]
    attempt: str = ""

    @property
    def start_offsets(self) -> Offsets:
        return offsets_from_json(self.start)

    @property
    def end_offsets(self) -> Offsets:
        return offsets_from_json(self.end)


class TopicIdentity(msgspec.Struct, frozen=True):
    """Which topic the positions belong to. One that is deleted and made again has another id."""

    topic: str
    id: str


class OffsetLog:
    """The entries in `folder`; those before `first` were removed. Entries are appended by one thread at a time."""

    def __init__(self, folder: Path, identity: TopicIdentity) -> None:
        self.folder = folder
        self._entries = folder / "offsets"
        self._entries.mkdir(parents=True, exist_ok=True)
        self._identity = self._first_identity(identity)
        self.check(identity)
        numbers = sorted(int(name) for name in os.listdir(self._entries) if name.isdigit())
        self._known = {number: self._read(number) for number in numbers}
        self.first = numbers[0] if numbers else 0
        self.newest = numbers[-1] if numbers else NOTHING_YET

    def check(self, present: TopicIdentity) -> None:
        """Refuse a topic that is not the one of the positions here."""
        kept = self._identity
        if kept.topic != present.topic:
            raise PlantError(
                f"the positions in {self.folder} are of topic {kept.topic!r}, not of {present.topic!r}: "
                "use another directory, or the topic as it was"
            )
        if kept.id != present.id:
            raise PlantError(
                f"topic {kept.topic!r} was deleted and made again since this run began (its id was {kept.id} and is "
                f"{present.id}): its old positions mean nothing in the new topic; start in a new directory"
            )

    def entry(self, number: int) -> OffsetEntry:
        try:
            return self._known[number]
        except KeyError:
            raise PlantError(
                f"position {number} of the stream in {self.folder} is gone, the first that is left is {self.first}: "
                "a reader that lost its checkpoint cannot continue; start in a new directory"
            ) from None

    @property
    def last(self) -> OffsetEntry | None:
        return self._known.get(self.newest)

    def append(self, entry: OffsetEntry, number: int | None = None) -> None:
        """Under the next number, or a later one."""
        number = self.newest + 1 if number is None else number
        _write(self._entries / str(number), msgspec.json.encode(entry))
        self._known[number] = entry
        if self.newest == NOTHING_YET:
            self.first = number
        self.newest = number

    def remove(self, until: int) -> None:
        """Delete the entries up to `until`, but not the newest: the next one continues from it."""
        for number in range(self.first, min(until, self.newest - 1) + 1):
            (self._entries / str(number)).unlink(missing_ok=True)
            self._known.pop(number, None)
            self.first = number + 1

    def _read(self, number: int) -> OffsetEntry:
        return msgspec.json.decode((self._entries / str(number)).read_bytes(), type=OffsetEntry)

    def _first_identity(self, present: TopicIdentity) -> TopicIdentity:
        file = self.folder / "topic.json"
        if not file.exists():
            _write(file, msgspec.json.encode(present))
        return msgspec.json.decode(file.read_bytes(), type=TopicIdentity)


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
