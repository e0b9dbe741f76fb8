"""Application: a topology that can be run by its name, with a generator of its input."""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rheostat.errors import ConfigError, nearest
from rheostat.load import Shape
from rheostat.topology import Topology
from rheostat.workloads.feeder import Line, MakeRecord

APPLICATIONS = {
    "wordcount": "wordcount.APPLICATION",
    "orders": "orders.APPLICATION",
    "debs2024": "debs2024.APPLICATION",
    "vld": "vld.APPLICATION",
    "fpd": "fpd.APPLICATION",
    "logs": "logs.APPLICATION",
    "twitter": "twitter.APPLICATION",
    "twitter-wide": "twitter_wide.APPLICATION",
    "dns": "dns.APPLICATION",
    "opinions": "opinions.APPLICATION",
    "sensitive": "sensitive.APPLICATION",
    "insensitive": "insensitive.APPLICATION",
    **{f"nexmark-q{number}": f"nexmark.Q{number}" for number in range(1, 9)},
}
"""Where each application is. Their modules import PySpark, so each is imported when it is needed."""


def json_lines(path: Path) -> Iterator[Line]:
    """The lines of a file as they are: a line that is no JSON object is the application's to reject."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in map(str.strip, file):
            try:
                record = json.loads(line)
            except ValueError:
                yield line
            else:
                yield record if isinstance(record, dict) else line


@dataclass(frozen=True, slots=True)
class Application:
    """`topology` reads JSON files from the folder that it is given; `generate` makes its records from a seed.

    `load` is the rate of `rheostat run`, `sla` its SLA unless the user gives others. `read` makes records of a file of
    the user, `summary` a line about the results in the directory of a run.
    """

    topology: Callable[[Path], Topology]
    generate: Callable[[int], MakeRecord]
    load: Shape
    sla: str = "10s/30s"
    read: Callable[[Path], Iterable[Line]] = json_lines
    summary: Callable[[Path], str] | None = None

    def replay(self, paths: Iterable[Path]) -> MakeRecord:
        """Makes the records of files, one after the other, and None at the end."""
        files = [file for path in paths for file in _files(path)]
        records = (record for file in files for record in self.read(file))
        return lambda time_s: next(records, None)


def application(name: str) -> Application:
    """The application called `name`."""
    if name not in APPLICATIONS:
        raise ConfigError(f"there is no application {name!r}; {nearest(name, APPLICATIONS)}")
    module, _, attribute = APPLICATIONS[name].partition(".")
    found = getattr(importlib.import_module(f"rheostat.workloads.{module}"), attribute)
    assert isinstance(found, Application)
    return found


def _files(path: Path) -> list[Path]:
    """The file, or all visible files in the folder by name."""
    files = sorted(file for file in path.rglob("[!.]*") if file.is_file()) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise ConfigError(f"--input {str(path)!r} is no file and no folder with files")
    return files
