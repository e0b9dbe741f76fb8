"""Sample feed: writes sample records of an application at given rates into the folder that its source reads."""

import itertools
import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rheostat.errors import ConfigError
from rheostat.load import Constant
from rheostat.workloads.feeder import Feeder


class SampleFeed:
    """Writes the records of `samples`, a file with one JSON object in each line, again and again to `folder`."""

    def __init__(self, folder: Path, samples: Path) -> None:
        self._folder, records = folder, _read(samples)
        self._next = itertools.cycle(records)

    def __call__(self, rate: float | None) -> AbstractContextManager[object]:
        """Write so many records per second while the context is open."""
        return nullcontext() if rate is None else Feeder(self._folder, Constant(rate), lambda time_s: next(self._next))


def _read(samples: Path) -> list[dict[str, Any]]:
    try:
        lines = [line for line in samples.read_text(encoding="utf-8").splitlines() if line.strip()]
        records = [json.loads(line) for line in lines]
    except OSError as error:
        raise ConfigError(f"--records {samples} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"--records {samples} is not a file of JSON objects, one in each line: {error}") from None
    if not records or not all(isinstance(record, dict) for record in records):
        raise ConfigError(f"--records {samples} has no JSON objects: give one in each line, as the source reads them")
    return records
