"""Job store: the results of finished jobs in one file, a line for each, so that a comparison can be resumed.

A line is appended with a single write. What a killed process left of its last line is cut off when the file is opened.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from rheostat.errors import ConfigError
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.jobs import Job, JobResult, PolicyJob, References
from rheostat.filelock import FileLock


class StoredJob(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: the job's key, and what it found."""

    key: str
    run: ComparedRun | None = None
    references: References | None = None


class JobStore:
    """Results by the keys of jobs, in `runs.jsonl` of a folder. Only one process at a time may have it open."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"results cannot be written to {str(folder)!r}: it is a file, give a folder")
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "runs.jsonl"
        self._lock = FileLock(folder / "runs.lock")
        if self._lock.held_by_another:
            raise ConfigError(f"another comparison is writing to {str(folder)!r}: wait for it, or give another --out")
        _cut_last_line(self.path)
        self._stored = {stored.key: stored for stored in _lines(self.path)}
        self._file = self.path.open("ab", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.release()

    def __contains__(self, job: Job) -> bool:
        return job.key in self._stored

    def __getitem__(self, job: Job) -> JobResult:
        stored = self._stored[job.key]
        result = stored.run if stored.run is not None else stored.references
        if result is None:
            raise KeyError(job.name)
        if isinstance(job, PolicyJob) and isinstance(result, ComparedRun):
            return msgspec.structs.replace(result, setting=job.setting, scenario=job.chosen.name)
        return result

    def add(self, job: Job, result: JobResult) -> None:
        stored = (
            StoredJob(job.key, run=result) if isinstance(result, ComparedRun) else StoredJob(job.key, references=result)
        )
        os.write(self._file.fileno(), msgspec.json.encode(stored) + b"\n")
        self._stored[job.key] = stored


def _cut_last_line(path: Path) -> None:
    """If it has no end."""
    if not path.exists():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def _lines(path: Path) -> Iterator[StoredJob]:
    """Lines of another format are left out: those jobs are run again."""
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(StoredJob)
    with path.open("rb") as file:
        for line in file:
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError:
                continue
