import sys
from pathlib import Path

import pytest

from rheostat.errors import PlantError
from rheostat.spark.install.java import find_java


def fake_java(folder: Path, script: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    executable.chmod(0o755)
    return executable


def test_java_home_comes_before_the_path(tmp_path):
    executable = fake_java(tmp_path / "home", """sys.stderr.write('openjdk version "21.0.2" 2024')""")
    fake_java(tmp_path / "other", """sys.stderr.write('openjdk version "17.0.1" 2021')""")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "other" / "bin")})
    assert (found.executable, found.version) == (executable, 21)


def test_no_java_at_all_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(PlantError, match=r"no `java` is on the path: install Java 17"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_home_without_java_is_named(tmp_path):
    with pytest.raises(PlantError, match=str(tmp_path / "bin" / "java")):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_an_old_java_is_refused_with_its_version(tmp_path):
    fake_java(tmp_path, """sys.stderr.write('java version "11.0.9" 2020-10-20')""")
    with pytest.raises(PlantError, match="is Java 11, too old for Spark"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_a_java_that_only_prints_an_apology_is_refused_with_it(tmp_path):
    fake_java(tmp_path, "sys.exit('Unable to locate a Java Runtime.')")
    with pytest.raises(PlantError, match="Unable to locate a Java Runtime"):
        find_java({"JAVA_HOME": str(tmp_path)})
