"""The directory of a run: checkpoints, streams and results, and whose they are.

identity.json      the topology, how its operators are fused, and what its streams look like
lock               held while somebody runs here
checkpoints/QUERY  Spark's own
streams/QUERY      what the query writes for others
results/STREAM     what leaves the topology, unless a sink was given
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from rheostat.errors import ConfigError, PlantError
from rheostat.filelock import FileLock
from rheostat.topology import Topology

_PLAIN = re.compile(r"[A-Za-z0-9_+-]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


class RunDirectory:
    """Claims `path` for one topology; a second run in it, or one of another topology, is refused."""

    def __init__(self, path: Path | str, topology: Topology, queries: Sequence[Sequence[str]]) -> None:
        self.path = local_path(path)
        self._identity_file = self.path / "identity.json"
        self._identity = {
            "topology": topology.name,
            "fingerprint": topology.fingerprint(),
            "queries": sorted(sorted(query) for query in queries),
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

    def keep_schemas(self, schemas: Mapping[str, StructType]) -> None:
        """Remember what the streams look like; refuse ones that do not fit what lies here."""
        described = {stream: _columns(schema) for stream, schema in schemas.items()}
        kept = self._read().get("schemas")
        if kept is not None:
            for stream, columns in described.items():
                _check_same(stream, kept[stream], columns)
        _write(self._identity_file, {**self._identity, "schemas": described})

    @property
    def streams(self) -> Path:
        return self.path / "streams"

    def checkpoint(self, query: str) -> Path:
        return self.path / "checkpoints" / folder_name(query)

    def results(self, stream: str) -> Path:
        return self.path / "results" / folder_name(stream)

    def release(self) -> None:
        """Let others run here."""
        self._lock.release()

    def _check_identity(self) -> None:
        kept = self._read()
        if not kept:
            return
        mine = self._identity
        if (kept["topology"], kept["fingerprint"]) != (mine["topology"], mine["fingerprint"]):
            raise PlantError(
                f"{self.path} holds a run of topology {kept['topology']!r} ({kept['fingerprint']}), "
                f"not of {mine['topology']!r} ({mine['fingerprint']}): use another directory"
            )
        if kept["queries"] != mine["queries"]:
            raise PlantError(
                f"{self.path} holds a run whose queries are {_listed(kept['queries'])}, "
                f"not {_listed(mine['queries'])}: fuse the same operators, or use another directory"
            )

    def _read(self) -> dict[str, Any]:
        try:
            kept: dict[str, Any] = json.loads(self._identity_file.read_text())
        except FileNotFoundError:
            return {}
        except json.JSONDecodeError as error:
            raise PlantError(f"{self._identity_file} is damaged ({error}): use another directory") from None
        return kept


def local_path(path: Path | str) -> Path:
    """`path` as a local one; what only some machines or programs can open is refused."""
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
    """A name for file systems and URIs: the same if it is plain, else with a mark that keeps it distinct."""
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


def _listed(queries: Sequence[Sequence[str]]) -> str:
    return ", ".join("+".join(query) for query in queries)


def _write(path: Path, content: Mapping[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(content, indent=1))
    draft.replace(path)
