"""Offset log: numbered positions in a Kafka topic, in a folder of the run directory.

Spark's log of a query has one number for each stream; a position in a topic is one number for each partition. An entry
is written before Spark hears of its number, so the same number means the same records after a restart.
"""

import os
from pathlib import Path

import msgspec

from rheostat.errors import PlantError
from rheostat.snapshot import PartitionState
from rheostat.spark.kafka.broker_client import Offsets, TopicReading, offsets_from_json, rows_between
from rheostat.spark.streams.entry_times import EntryTimes
from rheostat.spark.streams.python_source import NOTHING_YET
from rheostat.spark.streams.stream import Arrival

_IDENTITY = "topic.json"


class RowStatistics(msgspec.Struct, frozen=True):
    """Of one output: its `rows` and `bytes`, and when those of which it is `known` entered, as `EntryTimes` has it."""

    rows: int
    bytes: int = 0
    known: int = 0
    mean_s: float = 0.0
    first_s: float = 0.0
    last_s: float = 0.0

    @property
    def entry(self) -> EntryTimes | None:
        """They are assumed to be spread evenly."""
        if not self.known:
            return None
        spread_s = self.last_s - self.first_s
        return EntryTimes(self.rows, self.known, self.mean_s, spread_s**2 / 12, (self.first_s, self.last_s))


class OffsetEntry(msgspec.Struct, frozen=True):
    """The records from `start` to `end` (JSON as Spark's connector has it), which were there at `published_s`.

    `outputs` are the statistics of each output by name, "" for the only one. With `writers`, only records that carry
    one of them belong to the entry.
    """

    start: str
    end: str
    published_s: float
    outputs: dict[str, RowStatistics]
    writers: list[str] | None = None

    @property
    def has_others(self) -> bool:
        """Whether there are records that do not belong to the entry."""
        return self.writers is not None and rows_between(self.start_offsets, self.end_offsets) != self.rows

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.outputs.values())

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


# Made once, before there are threads: what msgspec knows of a type must not be made by two threads at the same time.
_decode_entry = msgspec.json.Decoder(OffsetEntry).decode
_decode_identity = msgspec.json.Decoder(TopicIdentity).decode


class OffsetLog:
    """The entries in `folder`; those before `first` were removed. Entries are appended by one thread at a time.

    `consumed` is where the last one ended that was removed since the start.
    """

    def __init__(self, folder: Path, identity: TopicIdentity) -> None:
        self.folder = folder
        self._entries = folder / "offsets"
        self._entries.mkdir(parents=True, exist_ok=True)
        self._identity = self._first_identity(identity)
        self._check_identity(identity)
        numbers = sorted(int(name) for name in os.listdir(self._entries) if name.isdigit())
        self._known = {number: self._read(number) for number in numbers}
        self.first = numbers[0] if numbers else 0
        self.newest = numbers[-1] if numbers else NOTHING_YET
        self.consumed: Offsets | None = None

    def check(self, reading: TopicReading) -> None:
        """Refuse a topic that is not the one of the positions here, or has lost records."""
        self._check_identity(TopicIdentity(self._identity.topic, reading.ids[self._identity.topic]))
        for each, offset in self._end.items():
            if reading.end.get(each, 0) < offset:
                raise PlantError(
                    f"partition {each.partition} of topic {each.topic!r} ends at offset {reading.end.get(each, 0)}, "
                    f"and {offset} was there before: the broker has lost records; start in a new directory"
                )

    def entry(self, number: int) -> OffsetEntry:
        try:
            return self._known[number]
        except KeyError:
            raise PlantError(
                f"position {number} of the stream in {self.folder} is gone, the first that is left is {self.first}: "
                "a reader that lost its checkpoint cannot continue; start in a new directory"
            ) from None

    def arrival(self, number: int, output: str | None) -> Arrival:
        """What one entry holds for readers of `output`."""
        entry = self.entry(number)
        seen = entry.outputs[output or ""]
        return Arrival(number, entry.published_s, seen.rows, seen.bytes, seen.entry)

    def between(self, after: int, until: int) -> tuple[Offsets, Offsets]:
        """Where the entries after the number `after` begin and `until` ends. Nothing lies between if these are one."""
        end = self.entry(until).end_offsets if after < until else self._end
        return self.entry(after + 1).start_offsets if after < until else end, end

    def partitions(self, after: int) -> tuple[PartitionState, ...]:
        """Where the topic ends, and what lies in it after the entry `after`."""
        known = self._known.get(after)
        start = (self.consumed or {}) if known is None else known.end_offsets
        return tuple(
            PartitionState(each.topic, each.partition, offset, offset - start.get(each, 0))
            for each, offset in self._end.items()
        )

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
            removed = self._known.pop(number, None)
            self.first = number + 1
            if removed is not None:
                self.consumed = removed.end_offsets

    @property
    def _end(self) -> Offsets:
        return {} if self.last is None else self.last.end_offsets

    def _check_identity(self, present: TopicIdentity) -> None:
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

    def _read(self, number: int) -> OffsetEntry:
        return _decode_entry((self._entries / str(number)).read_bytes())

    def _first_identity(self, present: TopicIdentity) -> TopicIdentity:
        file = self.folder / _IDENTITY
        if not file.exists():
            _write(file, msgspec.json.encode(present))
        return _decode_identity(file.read_bytes())


def is_in_topic(folder: Path) -> bool:
    """Whether there are positions in a topic in `folder`."""
    return (folder / _IDENTITY).exists()


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
