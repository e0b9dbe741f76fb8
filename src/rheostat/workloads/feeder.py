"""Feeder: writes records at the rate of a load shape, as small JSON files in a folder, one file per tick.

The column `entered` of a record is the time at which it was due. A late tick writes all records that are due by then,
so that the number of records follows the shape even on a busy machine.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.load import Shape

Line = dict[str, Any] | str
"""A record, or a line of text that is written as it is."""

MakeRecord = Callable[[float], Line | None]
"""Makes a record for a time in seconds since the start of the load; None when there are no more."""

_TICK_S = 0.2


class Feeder:
    """Writes records to `folder` from `start` to `stop`; `fed` counts them.

    They arrive at regular intervals; with `rng` their number in each tick is drawn from a Poisson distribution.
    """

    def __init__(
        self,
        folder: Path,
        load: Shape,
        make: MakeRecord,
        tick_s: float = _TICK_S,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.fed = 0
        self.started_s = 0.0
        self._rng = rng
        self._folder, self._load, self._make, self._tick_s = folder, load, make, tick_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._feed, name="rheostat feeder", daemon=True)
        folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        self.started_s = time.time()
        self._thread.start()

    def stop(self) -> None:
        """Stop writing; all records that were due have been written."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> "Feeder":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _feed(self) -> None:
        start_s, tick, due = self.started_s, 0, 0.0
        while not self._stopped.wait(max(0.0, start_s + (tick + 1) * self._tick_s - time.time())):
            expected = float(self._load.rate_at((tick + 0.5) * self._tick_s)) * self._tick_s
            due += expected if self._rng is None else int(self._rng.poisson(expected))
            count = int(due)
            due -= count
            if count:
                times_s = start_s + (tick + (np.arange(count) + 0.5) / count) * self._tick_s
                lines = list(self._lines(times_s, start_s))
                if lines:
                    self._write(tick, lines)
                self.fed += len(lines)
                if len(lines) < count:
                    return
            tick += 1

    def _lines(self, times_s: np.ndarray, start_s: float) -> Iterator[str]:
        for time_s in times_s:
            record = self._make(float(time_s) - start_s)
            if record is None:
                return
            if isinstance(record, dict):
                record = json.dumps({"entered": datetime.fromtimestamp(float(time_s), UTC).isoformat(), **record})
            yield record

    def _write(self, tick: int, lines: list[str]) -> None:
        """Write to a hidden file first: readers must not see an incomplete file."""
        hidden = self._folder / f".{os.getpid()}-{tick}.json"
        hidden.write_text("\n".join(lines) + "\n", encoding="utf-8")
        hidden.rename(self._folder / f"{time.time_ns()}.json")
