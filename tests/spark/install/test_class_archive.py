import os
import subprocess
import time
from pathlib import Path

import pytest

from rheostat.errors import PlantError
from rheostat.spark.install import class_archive as module
from rheostat.spark.install.class_archive import class_archive, class_archive_or_none, existing_archive
from rheostat.spark.processes.watchdog import process_table

pytestmark = pytest.mark.spark


@pytest.fixture
def training_runs(monkeypatch) -> list[Path]:
    """A training run that writes something else, and records the archives it was asked for."""
    asked: list[Path] = []

    def train(draft: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
        asked.append(draft)
        draft.write_bytes(b"classes")
        return subprocess.CompletedProcess([], 0, "")

    monkeypatch.setattr(module, "_run_training", train)
    return asked


def test_the_archive_is_made_once_and_then_found(tmp_path, training_runs):
    assert existing_archive(tmp_path) is None
    archive = class_archive(tmp_path)
    assert class_archive(tmp_path) == existing_archive(tmp_path) == archive
    assert len(training_runs) == 1
    assert list(tmp_path.glob("*.jsa")) == [archive]


def test_another_java_gets_another_archive(tmp_path, training_runs, monkeypatch):
    before = class_archive(tmp_path)
    found = module.find_java()
    monkeypatch.setattr(module, "find_java", lambda: type(found)(found.executable, 99, "another"))
    assert class_archive(tmp_path) != before


def test_archives_unused_for_a_month_go_when_a_new_one_comes(tmp_path, training_runs):
    old, recent = tmp_path / "classes-old.jsa", tmp_path / "classes-recent.jsa"
    for file, age_days in ((old, 31), (recent, 29)):
        file.touch()
        os.utime(file, (time.time() - age_days * 86400,) * 2)
    archive = class_archive(tmp_path)
    assert sorted(tmp_path.glob("*.jsa")) == sorted([archive, recent])


def test_a_training_run_that_fails_leaves_nothing_and_is_only_a_warning(tmp_path, monkeypatch, caplog):
    def fail(draft: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
        draft.write_bytes(b"half")
        return subprocess.CompletedProcess([], 1, "java.lang.OutOfMemoryError: no room")

    monkeypatch.setattr(module, "_run_training", fail)
    with pytest.raises(PlantError, match=r"code 1: java.lang.OutOfMemoryError: no room"):
        class_archive(tmp_path)
    assert class_archive_or_none(tmp_path) is None
    assert "executors start slower" in caplog.text
    assert list(tmp_path.glob("**/*.jsa")) == []


def test_driver_daemons_and_executors_map_the_archive(spark, cluster):
    archive = cluster.address.jvm_extras.archive
    if archive is None or not Path("/proc/self/maps").exists():
        pytest.skip("no archive could be made here, or no way to see who uses it")
    driver = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    assert spark.range(10, numPartitions=1).count() == 10
    workers = {cluster.worker_pid(node.name) for node in cluster.nodes}
    executors = {pid for pid, it in process_table().items() if it.parent in workers}
    assert executors
    for pid in {driver} | workers | executors:
        assert str(archive) in Path(f"/proc/{pid}/maps").read_text()
