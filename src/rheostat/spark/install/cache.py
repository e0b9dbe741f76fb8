"""Cache: where files that were made for the installed Spark are kept, and when they are out of date."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from rheostat.filelock import FileLock
from rheostat.spark.install.spark_home import spark_home


def default_cache() -> Path:
    """The user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return Path(home) / "rheostat" if home else Path.home() / ".cache" / "rheostat"


def private_folder(folder: Path) -> Path:
    """`folder`, or a new one if it cannot be used: code must not come from where others can write."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK) and folder.stat().st_uid == os.getuid():
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="rheostat-cache-"))


def made_once(target: Path, make: Callable[[Path], None]) -> Path:
    """`target`, written by `make` (at the path that it gets) if it is not there; other processes wait meanwhile."""
    if not target.exists():
        with FileLock(target.with_suffix(".lock"), wait=True):
            if not target.exists():
                _make_whole(target, make)
    return target


def _make_whole(target: Path, make: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="making-", dir=target.parent) as folder:
        draft = Path(folder, target.name)
        make(draft)
        draft.replace(target)


def fingerprint(parts: Iterable[bytes]) -> str:
    """A hash of `parts` and of every jar of the installed Spark."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    for jar in sorted((spark_home() / "jars").glob("*.jar")):
        known = jar.stat()
        digest.update(f"{jar} {known.st_size} {known.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
