"""File lock: a lock on a path that the system releases when its holder dies, however it dies."""

import os
from pathlib import Path
from typing import IO, Self

try:
    import fcntl
except ImportError:  # no advisory locks on this system: the lock is always granted there
    fcntl = None  # type: ignore[assignment]


class FileLock:
    """Held from construction until `release`; `held_by_another` if another holder has it.

    With `wait` the constructor waits until the other holder releases it.
    """

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        self._file: IO[bytes] | None = path.open("ab")
        self.held_by_another = not self._take(wait)
        if self.held_by_another:
            self.release()

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _take(self, wait: bool) -> bool:
        if fcntl is None or self._file is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            return False
        os.set_inheritable(self._file.fileno(), False)
        return True


def is_locked(path: Path) -> bool:
    """Whether the lock on `path` is held now."""
    try:
        with path.open("rb") as file:
            if fcntl is not None:
                # A shared lock: two processes that look at the same time do not see each other.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
