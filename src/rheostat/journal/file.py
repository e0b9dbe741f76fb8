"""Journal file: the SQLite file of a journal, checked when it is opened, locked for one writer, with transactions."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rheostat.errors import JournalError
from rheostat.filelock import FileLock

APPLICATION_ID = 0x52484554
SCHEMA_VERSION = 3
MEMORY = ":memory:"
_SQLITE_HEADER = b"SQLite format 3\0"

_SCHEMA = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE plans (revision INTEGER PRIMARY KEY, time_s REAL NOT NULL, action INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE snapshots (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, revision INTEGER NOT NULL,
    settling TEXT NOT NULL, holds TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX snapshots_by_run ON snapshots (run);
CREATE TABLE points (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, input REAL,
    expected REAL, expected_low REAL, expected_high REAL, latency_s REAL, completed INTEGER NOT NULL, standing_s REAL,
    missed INTEGER, queued REAL, planned INTEGER NOT NULL, active INTEGER NOT NULL, coming INTEGER NOT NULL,
    standby INTEGER NOT NULL, leaving INTEGER NOT NULL, executor_s REAL NOT NULL, paused INTEGER NOT NULL,
    dry_run INTEGER NOT NULL);
CREATE INDEX points_by_time ON points (time_s);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, snapshot INTEGER NOT NULL, time_s REAL NOT NULL,
    subject TEXT NOT NULL, pool TEXT, kind TEXT NOT NULL, ruling TEXT NOT NULL, why TEXT NOT NULL,
    revision INTEGER UNIQUE, body TEXT NOT NULL);
CREATE INDEX decisions_by_run ON decisions (run);
CREATE TABLE outcomes (revision INTEGER PRIMARY KEY, time_s REAL NOT NULL, observed TEXT, note TEXT NOT NULL);
CREATE TABLE commands (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL,
    by TEXT NOT NULL);
CREATE TABLE problems (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, place TEXT NOT NULL, what TEXT NOT NULL);
"""


class JournalFile:
    """One connection, usable from any thread. `path` may be ":memory:". Errors of SQLite are raised as a `JournalError`
    that names the file."""

    def __init__(self, path: Path | str, *, read_only: bool = False) -> None:
        self.path = str(path)
        self._mutex = threading.RLock()
        self._lock: FileLock | None = None
        if read_only:
            self._check_file(Path(path))
        if not read_only and self.path != MEMORY:
            self._lock = self._locked()
        try:
            self._connection = self._connect(read_only)
        except BaseException:
            self._unlock()
            raise

    def close(self) -> None:
        with self._mutex:
            self._connection.close()
        self._unlock()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._mutex, self._named():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def transaction(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """All or nothing. A `durable` one is on the disk, with all before it, when the block ends."""
        with self._mutex, self._named():
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(f"journal {self.path}: {error}") from error

    def _check_file(self, path: Path) -> None:
        """Refuse what cannot be a journal, with a hint."""
        if path.is_dir():
            raise JournalError(f"{path} is a folder: give the journal in it, {path / 'journal.db'} if it is of a run")
        if not path.is_file():
            raise JournalError(f"there is no journal at {path}")
        with path.open("rb") as file:
            start = file.read(len(_SQLITE_HEADER))
        if not start:
            raise JournalError(f"journal {path} is empty: nothing was recorded")
        if start != _SQLITE_HEADER:
            raise JournalError(f"{path}: file is not a database, so it is no journal of Rheostat")

    def _locked(self) -> FileLock:
        try:
            lock = FileLock(Path(self.path + "-lock"))
        except OSError as error:
            raise JournalError(f"journal {self.path} cannot be written: {error.strerror}") from error
        if lock.held_by_another:
            raise JournalError(
                f"journal {self.path} is in use by another controller: stop that one, or use another file"
            )
        return lock

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _connect(self, read_only: bool) -> sqlite3.Connection:
        target = f"{Path(self.path).absolute().as_uri()}?mode=ro" if read_only else self.path
        with self._named():
            connection = sqlite3.connect(target, uri=read_only, isolation_level=None, check_same_thread=False)
        try:
            with self._named():
                self._check(connection, read_only)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection, read_only: bool) -> None:
        """Create the tables in a new file; refuse a file that is not a journal, or that has another schema."""
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
        application, version = (
            connection.execute(f"PRAGMA {p}").fetchone()[0] for p in ("application_id", "user_version")
        )
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application == 0 and not tables and not read_only:
            connection.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {APPLICATION_ID}; "
                f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
        elif application != APPLICATION_ID:
            raise JournalError(f"{self.path} is a database, but not a journal of Rheostat: use another file")
        elif version != SCHEMA_VERSION:
            advice = (
                "use a newer Rheostat" if version > SCHEMA_VERSION else "use another file, or the version that wrote it"
            )
            reads = f"this version of Rheostat reads schema {SCHEMA_VERSION}"
            raise JournalError(f"journal {self.path} has schema {version}, {reads}: {advice}")
