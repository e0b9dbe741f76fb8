"""Where what was made for the installed Spark is kept, and what makes it out of date."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rheostat.spark.installed import spark_home


def default_cache() -> Path:
    """Where a user's caches belong."""
    home = os.environ.get("XDG_CACHE_HOME")
    return Path(home) / "rheostat" if home else Path.home() / ".cache" / "rheostat"


def private_folder(folder: Path) -> Path:
    """`folder`, or a fresh one where it cannot be used: code must not come from where others can write."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK) and folder.stat().st_uid == os.getuid():
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="rheostat-cache-"))


def fingerprint(parts: Iterable[bytes]) -> str:
    """Changes with `parts` and with every jar of the installed Spark."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    for jar in sorted((spark_home() / "jars").glob("*.jar")):
        known = jar.stat()
        digest.update(f"{jar} {known.st_size} {known.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
