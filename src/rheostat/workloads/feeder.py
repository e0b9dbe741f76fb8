"""Feeds a pipeline at a rate that follows a load shape: small JSON files in a folder, one for each tick.

Every record has the moment at which it was due in the column `entered`. A tick that comes late is made up for, so
that as many records come as the shape says, whatever the machine does meanwhile.
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

Make = Callable[[float], dict[str, Any]]
"""A record for a moment of the load's own time."""

_TICK_S = 0.2


class Feeder:
    """Writes records into `folder` from `start` to `stop`; `fed` counts them."""

    def __init__(self, folder: Path, load: Shape, make: Make, tick_s: float = _TICK_S) -> None:
        self.fed = 0
        self._folder, self._load, self._make, self._tick_s = folder, load, make, tick_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._feed, name="rheostat feeder", daemon=True)
        folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write no more; what was due is written."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> "Feeder":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _feed(self) -> None:
        begun_s, tick, owed = time.time(), 0, 0.0
        while not self._stopped.wait(max(0.0, begun_s + (tick + 1) * self._tick_s - time.time())):
            owed += float(self._load.rate_at((tick + 0.5) * self._tick_s)) * self._tick_s
            count = int(owed)
            owed -= count
            if count:
                moments = begun_s + (tick + (np.arange(count) + 0.5) / count) * self._tick_s
                self._write(tick, list(self._lines(moments, begun_s)))
                self.fed += count
            tick += 1

    def _lines(self, moments_s: np.ndarray, begun_s: float) -> Iterator[str]:
        for moment_s in moments_s:
            entered = datetime.fromtimestamp(float(moment_s), UTC).isoformat()
            yield json.dumps({"entered": entered, **self._make(float(moment_s) - begun_s)})

    def _write(self, tick: int, lines: list[str]) -> None:
        """Under a name that no reader looks at until the file is whole."""
        hidden = self._folder / f".{os.getpid()}-{tick}.json"
        hidden.write_text("\n".join(lines) + "\n", encoding="utf-8")
        hidden.rename(self._folder / f"{time.time_ns()}.json")
