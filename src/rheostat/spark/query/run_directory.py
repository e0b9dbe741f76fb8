"""Run directory: the checkpoints, streams and results of one topology.

identity.json      the topology, which operators share a query now, and the schemas of its streams
lock               held while the topology runs
checkpoints/QUERY  Spark's own
streams/WRITER     the stream that one operator, or a whole query, writes for others
results/STREAM     what leaves the topology, unless a sink was given
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from rheostat.chain import in_flow_order
from rheostat.errors import ConfigError, PlantError
from rheostat.filelock import FileLock
from rheostat.spark.query.fusion.query_changes import changes_between, listed
from rheostat.spark.query.unit import units_of
from rheostat.topology import Topology
from rheostat.topology_shape import differences, shape_of

_PLAIN = re.compile(r"[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)?")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


class RunDirectory:
    """Claims `path` for one topology; a second run in it, or one of another topology, is refused.

    Each group in `fused` shares a query. A run continues with the queries that the last one had; other ones are refused
    unless the present ones can be changed to them while the topology runs.
    """

    def __init__(self, path: Path | str, topology: Topology, fused: Iterable[Sequence[str]] = ()) -> None:
        self.path = local_path(path)
        self._topology = topology
        self._identity_file = self.path / "identity.json"
        self._identity: dict[str, Any] = {
            "topology": topology.name,
            "fingerprint": topology.fingerprint(),
            "shape": shape_of(topology),
            "queries": self._in_order(unit.parts for unit in units_of(topology, fused)),
        }
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self.path / "lock")
        if self._lock.held_by_another:
            raise PlantError(f"another run is using {self.path}: stop it first, or use another directory")
        try:
            self._check_identity()
        except PlantError:
            self.release()
            raise

    @property
    def queries(self) -> tuple[tuple[str, ...], ...]:
        """The parts of each query, in flow order."""
        return tuple(map(tuple, self._identity["queries"]))

    def record_queries(self, queries: Iterable[Sequence[str]]) -> None:
        """Record, in one atomic step, that these are the queries now."""
        self._identity["queries"] = self._in_order(queries)
        _write(self._identity_file, {**self._read(), **self._identity})

    def remove_unused_checkpoints(self) -> None:
        """Delete checkpoints of no present query: of replaced ones, or of a change that was interrupted."""
        kept = {folder_name("+".join(parts)) for parts in self.queries}
        for folder in self._checkpoints.glob("*"):
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def record_schemas(self, schemas: Mapping[str, StructType]) -> None:
        """Record the schemas of the streams; refuse ones that do not fit the files that lie here."""
        described = {stream: _columns(schema) for stream, schema in schemas.items()}
        kept = self._read().get("schemas", {})
        for stream in described.keys() & kept.keys():
            _check_same(stream, kept[stream], described[stream])
        _write(self._identity_file, {**self._identity, "schemas": {**kept, **described}})

    @property
    def streams(self) -> Path:
        return self.path / "streams"

    def stream(self, writer: str) -> Path:
        return self.streams / folder_name(writer)

    def checkpoint(self, query: str) -> Path:
        return self._checkpoints / folder_name(query)

    def results(self, stream: str) -> Path:
        return self.path / "results" / folder_name(stream)

    def release(self) -> None:
        """Let another run use the directory."""
        self._lock.release()

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def _in_order(self, queries: Iterable[Sequence[str]]) -> list[list[str]]:
        return sorted(list(in_flow_order(self._topology, query)) for query in queries)

    def _check_identity(self) -> None:
        kept = self._read()
        if not kept:
            return
        mine = self._identity
        if kept["topology"] != mine["topology"]:
            raise PlantError(
                f"{self.path} holds a run of topology {kept['topology']!r}, not of {mine['topology']!r}: "
                "use another directory"
            )
        if kept["fingerprint"] != mine["fingerprint"]:
            changes = differences(kept["shape"], mine["shape"]) if "shape" in kept else ["its operators are others"]
            raise PlantError(
                f"{self.path} holds a run of topology {kept['topology']!r}, which has changed since: "
                f"{'; '.join(changes)}: use another directory, or the topology as it was"
            )
        try:
            changes_between(self._topology, kept["queries"], mine["queries"])
        except PlantError as error:
            raise PlantError(
                f"{self.path} holds a run whose queries are {listed(kept['queries'])}, not "
                f"{listed(mine['queries'])} ({error}): fuse the same operators, or use another directory"
            ) from None
        mine["queries"] = self._in_order(kept["queries"])
        self.remove_unused_checkpoints()

    def _read(self) -> dict[str, Any]:
        try:
            kept: dict[str, Any] = json.loads(self._identity_file.read_text())
        except FileNotFoundError:
            return {}
        except json.JSONDecodeError as error:
            raise PlantError(f"{self._identity_file} is damaged ({error}): use another directory") from None
        return kept


def local_path(path: Path | str) -> Path:
    """`path` as a path of a mounted file system; URIs with another scheme than `file` are refused."""
    text = str(path)
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() != "file":
        raise ConfigError(
            f"run directory {text!r}: give a path that the driver and all executors see as a file system, "
            f"not {scheme[1]}: (streams between operators are files there)"
        )
    if "\n" in text:
        raise ConfigError(f"run directory {text!r} has a line break in its name")
    return Path(text[len(scheme[0]) :] if scheme else text).absolute()


def folder_name(name: str) -> str:
    """A name for a folder: `name` itself if it is plain, else a plain version with a hash that keeps it distinct."""
    if _PLAIN.fullmatch(name):
        return name
    return f"{re.sub(r'[^A-Za-z0-9_+-]', '_', name)}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _columns(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _check_same(stream: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    for column in {**before, **now}:
        if before.get(column) != now.get(column):
            raise PlantError(
                f"operator {stream.partition('.')[0]!r}: column {column!r} of stream {stream!r} is "
                f"{now.get(column, 'missing')} now and was {before.get(column, 'missing')} when this run directory "
                "was made: use another directory, or the operator as it was"
            )


def _write(path: Path, content: Mapping[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(content, indent=1))
    draft.replace(path)
