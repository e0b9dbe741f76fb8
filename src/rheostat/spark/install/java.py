"""Java: the one that Spark will use, or a clear error if there is none that fits."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rheostat.errors import PlantError

OLDEST_JAVA = 17
"""The oldest Java for Spark 4."""

_VERSION = re.compile(r'version "(\d+)')
_HINT = f"install Java {OLDEST_JAVA} or newer, or point JAVA_HOME at one"


@dataclass(frozen=True, slots=True)
class Java:
    """An executable `java`, its major version and the text that it prints about itself."""

    executable: Path
    version: int
    text: str


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The Java that Spark's own scripts would run: JAVA_HOME's, else the first on the path."""
    executable = _executable(os.environ if environ is None else environ)
    version, text = _version(executable)
    if version < OLDEST_JAVA:
        raise PlantError(f"{executable} is Java {version}, too old for Spark: {_HINT}")
    return Java(executable, version, text)


def _executable(environ: Mapping[str, str]) -> Path:
    home = environ.get("JAVA_HOME")
    if home:
        candidate = Path(home, "bin", "java")
        if not os.access(candidate, os.X_OK):
            raise PlantError(f"no Java at {candidate}, where JAVA_HOME={home!r} says it is: {_HINT}")
        return candidate
    found = shutil.which("java", path=environ.get("PATH", os.defpath))
    if found is None:
        raise PlantError(f"no Java: JAVA_HOME is not set and no `java` is on the path: {_HINT}")
    return Path(found)


def _version(executable: Path) -> tuple[int, str]:
    try:
        ran = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlantError(f"{executable} does not run ({error}): {_HINT}") from error
    text = (ran.stderr + ran.stdout).strip()
    match = _VERSION.search(text)
    if ran.returncode != 0 or match is None:
        raise PlantError(f"{executable} does not print its version ({text[:200]!r}): {_HINT}")
    return int(match[1]), text
