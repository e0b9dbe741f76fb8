import logging
import os
import shutil
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError

from rheostat.errors import PlantError
from rheostat.spark.install import cache, jvm_helpers

pytestmark = pytest.mark.spark

HADOOPS = "org.apache.hadoop.fs.LocalFileSystem"


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Path:
    """A copy of the helpers' sources that a test may change."""
    copy = tmp_path / "sources"
    shutil.copytree(jvm_helpers.SOURCES, copy)
    monkeypatch.setattr(jvm_helpers, "SOURCES", copy)
    return copy


@pytest.fixture
def compiler_runs(monkeypatch) -> list[Path]:
    """A compiler that writes something else, and notes for what it was called."""
    runs: list[Path] = []

    def compile_to(target: Path) -> "subprocess.CompletedProcess[str]":
        runs.append(target)
        target.write_bytes(b"a jar")
        return subprocess.CompletedProcess([], 0, "")

    monkeypatch.setattr(jvm_helpers, "_run_compiler", compile_to)
    return runs


def test_the_jar_is_compiled_once_and_then_found(tmp_path, compiler_runs):
    jar = jvm_helpers.helpers_jar(tmp_path / "cache")
    assert jvm_helpers.helpers_jar(tmp_path / "cache") == jar
    assert len(compiler_runs) == 1
    assert helpers_among(tmp_path / "cache") == [jar]


def test_changed_sources_get_another_jar(tmp_path, sources, compiler_runs):
    before = jvm_helpers.helpers_jar(tmp_path)
    (sources / "Pin.scala").write_text("// changed")
    assert jvm_helpers.helpers_jar(tmp_path) != before


def test_another_spark_gets_another_jar(tmp_path, monkeypatch, compiler_runs):
    before = jvm_helpers.helpers_jar(tmp_path)
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "scala-compiler-2.13.jar").touch()
    monkeypatch.setattr(jvm_helpers, "spark_home", lambda: jars.parent)
    monkeypatch.setattr(cache, "spark_home", lambda: jars.parent)
    assert jvm_helpers.helpers_jar(tmp_path) != before


def test_of_those_who_need_the_jar_at_the_same_time_one_compiles_and_all_get_it_whole(tmp_path, monkeypatch):
    runs: list[Path] = []

    def compile_to(target: Path) -> "subprocess.CompletedProcess[str]":
        runs.append(target)
        target.write_bytes(b"half a j")
        assert helpers_among(tmp_path) == []
        target.write_bytes(b"a whole jar")
        return subprocess.CompletedProcess([], 0, "")

    monkeypatch.setattr(jvm_helpers, "_run_compiler", compile_to)
    with ThreadPoolExecutor(4) as pool:
        jars = {future.result() for future in [pool.submit(jvm_helpers.helpers_jar, tmp_path) for _ in range(4)]}
    (jar,) = jars
    assert jar.read_bytes() == b"a whole jar"
    assert len(runs) == 1
    assert helpers_among(tmp_path) == [jar]


def helpers_among(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.suffix == ".jar"]


def test_a_cache_that_cannot_be_written_is_replaced_by_a_private_folder(tmp_path, monkeypatch, compiler_runs):
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    jar = jvm_helpers.helpers_jar(tmp_path / "cache")
    assert jar.read_bytes() == b"a jar"
    assert stat.S_IMODE(jar.parent.stat().st_mode) == 0o700


@pytest.mark.slow
def test_a_compiler_error_is_passed_on_and_costs_only_the_helpers(tmp_path, sources, caplog):
    for source in sources.glob("*.scala"):
        source.unlink()
    (sources / "Wrong.scala").write_text("object Wrong { val number: Int = nonsense }")
    with caplog.at_level(logging.WARNING):
        assert jvm_helpers.helpers_jar_or_none(tmp_path / "cache") is None
    (record,) = caplog.records
    assert "not found: value nonsense" in record.getMessage()
    assert "every row passes through Python" in record.getMessage()
    assert helpers_among(tmp_path / "cache") == []


def test_a_spark_without_a_compiler_is_named(tmp_path, monkeypatch):
    (tmp_path / "jars").mkdir()
    monkeypatch.setattr(jvm_helpers, "spark_home", lambda: tmp_path)
    with pytest.raises(PlantError, match=f"no Scala compiler in {tmp_path / 'jars'}"):
        jvm_helpers.helpers_jar(tmp_path)


def test_the_session_has_the_helpers_and_uses_their_file_system(spark):
    jvm = spark.sparkContext._jvm
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    assert jvm_helpers.is_loaded(jvm)
    local = jvm.java.net.URI("file:///")
    assert jvm.org.apache.hadoop.fs.FileSystem.get(local, conf).getClass().getName() == jvm_helpers.FILE_SYSTEM
    context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(local, conf)
    assert context.getDefaultFileSystem().getClass().getName() == jvm_helpers.ABSTRACT_FILE_SYSTEM


@pytest.mark.parametrize("mode", ["644", "600", "755", "1777", "000"])
def test_permissions_are_those_that_hadoop_would_have_set(spark, tmp_path, mode):
    jvm = spark.sparkContext._jvm
    permission = jvm.org.apache.hadoop.fs.permission.FsPermission(mode)
    found = {}
    for name in (HADOOPS, jvm_helpers.FILE_SYSTEM):
        files = made(spark, name)
        folder = tmp_path / name
        files.mkdirs(jvm.org.apache.hadoop.fs.Path(str(folder)), permission)
        found[name] = {_mode(folder)}
        file = folder.with_suffix(".file")
        files.create(jvm.org.apache.hadoop.fs.Path(str(file))).close()
        files.setPermission(jvm.org.apache.hadoop.fs.Path(str(file)), permission)
        found[name].add(_mode(file))
    assert found[HADOOPS] == found[jvm_helpers.FILE_SYSTEM]


def test_links_are_told_from_files_as_hadoop_does(spark, tmp_path):
    (tmp_path / "file").write_text("some text")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    paths = [spark.sparkContext._jvm.org.apache.hadoop.fs.Path(str(path)) for path in sorted(tmp_path.iterdir())]
    found = {}
    for name in (HADOOPS, jvm_helpers.FILE_SYSTEM):
        raw = made(spark, name).getRawFileSystem()
        states = [raw.getFileLinkStatus(path) for path in paths]
        found[name] = [(each.isSymlink(), each.isDirectory(), each.getLen(), each.toString()) for each in states]
        with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
            raw.getFileLinkStatus(spark.sparkContext._jvm.org.apache.hadoop.fs.Path(str(tmp_path / "nothing")))
    assert found[HADOOPS] == found[jvm_helpers.FILE_SYSTEM]
    assert [is_link for is_link, *_ in found[HADOOPS]] == [True, False, False, True]


def made(spark, name: str) -> JavaObject:
    """A file system of this class."""
    jvm = spark.sparkContext._jvm
    files = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)
    files = files.getDeclaredConstructors()[0].newInstance(None)
    files.initialize(jvm.java.net.URI("file:///"), spark.sparkContext._jsc.hadoopConfiguration())
    return files


def _mode(path: Path) -> str:
    return oct(stat.S_IMODE(os.stat(path).st_mode))
