"""File lock: a lock on a path that the system releases when the process of its holder ends, for whatever reason."""

import os
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # no advisory locks on this system: the lock is always granted there
    fcntl = None  # type: ignore[assignment]


class FileLock:
    """Held from construction until `release`, unless it is `held_by_another`."""

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] | None = path.open("ab")
        self.held_by_another = not self._take()
        if self.held_by_another:
            self.release()

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self) -> bool:
        if fcntl is None or self._file is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        os.set_inheritable(self._file.fileno(), False)
        return True
