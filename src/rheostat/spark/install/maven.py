"""Maven: jars from Maven's repositories by its own client, kept in the user's cache."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rheostat.errors import PlantError
from rheostat.spark.install.cache import default_cache, made_once, private_folder
from rheostat.spark.processes.process_guard import run_guarded

_TIMEOUT_S = 600.0
_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>rheostat</groupId><artifactId>jars</artifactId><version>1</version><dependencies>{}</dependencies></project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
# Their POMs may name repositories that are out of reach.
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


def has_maven() -> bool:
    return shutil.which("mvn") is not None


def maven_jars(coordinates: Sequence[str], *, transitive: bool = True) -> list[Path]:
    """The jars of `coordinates` (`group:artifact:version`), with all that they depend on if `transitive`.

    They are fetched once. Raises a `PlantError` without Maven, or if they cannot be had.
    """
    if not has_maven():
        raise PlantError("there is no Maven (`mvn`) on the path: install it, or name jar files")
    target = _folder(coordinates, transitive)
    made_once(target, lambda draft: _fetch(coordinates, draft, transitive))
    return sorted(target.glob("*.jar"))


def are_fetched(coordinates: Sequence[str], *, transitive: bool = True) -> bool:
    """Whether `maven_jars` has them already."""
    return _folder(coordinates, transitive).exists()


def _folder(coordinates: Sequence[str], transitive: bool) -> Path:
    named = "\n".join([*coordinates, f"transitive={transitive}"])
    return private_folder(default_cache() / "maven") / hashlib.sha256(named.encode()).hexdigest()[:16]


def _fetch(coordinates: Sequence[str], target: Path, transitive: bool) -> None:
    excluded = "" if transitive else _ALONE
    dependencies = [_DEPENDENCY.format(*each.split(":"), excluded) for each in coordinates]
    with tempfile.TemporaryDirectory(prefix="rheostat-maven-") as folder:
        Path(folder, "pom.xml").write_text(_PROJECT.format("".join(dependencies)), encoding="utf-8")
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={target}"]
        ran = run_guarded(["mvn", "-q", "-B", "-f", f"{folder}/pom.xml", *goal], _TIMEOUT_S)
    if ran.returncode != 0:
        reason = next((line for line in ran.stdout.splitlines() if "ERROR" in line), ran.stdout[-500:])
        raise PlantError(f"Maven cannot fetch {', '.join(coordinates)}: {reason[:500]}")
