"""Where compiled code is kept between processes: a folder for each state of the simulator's sources.

numba looks only at the file of a function to see whether its compiled form is still good. Compiled code contains
what it calls, from other files too: so any change in any of them leads to another folder.
"""

import hashlib
import os
import shutil
from functools import cache
from pathlib import Path

_KEPT = 4


@cache
def cache_folder() -> Path:
    """The folder for the sources as they are now; those of the latest few states are kept."""
    folder = _base() / _fingerprint()
    if not folder.exists():
        for stale in sorted(_base().glob("*"), key=lambda each: each.stat().st_mtime)[: -_KEPT + 1]:
            shutil.rmtree(stale, ignore_errors=True)
    return folder


def _base() -> Path:
    given = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) / "rheostat" if given else user / "rheostat" / "compiled"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    simulator = Path(__file__).parents[1]
    for source in sorted(simulator.rglob("*.py")):
        digest.update(source.relative_to(simulator).as_posix().encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]
