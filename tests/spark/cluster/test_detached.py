import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rheostat.errors import PlantError
from rheostat.spark.cluster import detached
from rheostat.spark.cluster.node import Node

pytestmark = pytest.mark.spark

_DRIVER = textwrap.dedent("""
    import sys, time
    from rheostat.spark.cluster.detached import connect
    from rheostat.spark.act.actuators.dynamic_allocation import stop_own_allocation
    from rheostat.spark.session import build_session

    settings = {
        "spark.executor.cores": 1,
        "spark.executor.memory": "512m",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
    }
    spark = build_session("visitor", cluster=connect(sys.argv[1]), settings=settings)
    context = spark.sparkContext._jsc.sc()
    executors = lambda: context.getExecutorIds().size()

    print("first", stop_own_allocation(spark) is not None, flush=True)
    profiles = spark._jvm.PythonUtils.toScalaMap({0: 1})
    nothing = spark._jvm.PythonUtils.toScalaMap({})
    context.schedulerBackend().requestTotalExecutors(profiles, nothing, nothing)
    while executors() < 1:
        time.sleep(0.1)
    print("rows", len(spark.range(100).collect()), flush=True)
    idle_since = time.monotonic()
    while time.monotonic() < idle_since + 5 and executors() == 1:
        time.sleep(0.1)
    print("kept", executors(), flush=True)
    spark.stop()
""")


@pytest.fixture
def folder(tmp_path):
    """A folder whose cluster, if any, ends with the test."""
    place = tmp_path / "cluster"
    yield place
    if detached.is_running(place):
        detached.stop(place)


def none_with(word: str) -> bool | None:
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True)
    return True if word not in listing.stdout else None


@pytest.mark.slow
def test_a_cluster_outlives_its_starter_serves_applications_and_ends_when_told(folder, eventually):
    started = detached.start_detached(folder, [Node("only", 2, "2g", ("big",))])
    status = detached.status(folder)
    assert status.master_url == started.master_url == detached.connect(folder).master_url
    assert [(node.name, node.alive, node.labels) for node in status.nodes] == [("only", True, ("big",))]
    assert stat.S_IMODE((folder / "cluster.json").stat().st_mode) == 0o600
    with pytest.raises(PlantError, match=f"already running in {folder}"):
        detached.start_detached(folder)

    ran = subprocess.run([sys.executable, "-c", _DRIVER, str(folder)], capture_output=True, text=True, timeout=280)
    assert ran.stdout.splitlines()[-3:] == ["first True", "rows 100", "kept 1"], ran.stderr[-2000:]

    detached.stop(folder)
    assert not detached.is_running(folder)
    eventually(lambda: none_with(str(folder)), "all processes to end", 20.0)
    assert {file.name for file in folder.iterdir()} >= {"logs", "holder.log"}
    assert not (folder / "cluster.json").exists()
    with pytest.raises(PlantError, match=f"no cluster is running in {folder}"):
        detached.status(folder)


@pytest.mark.slow
def test_a_holder_that_is_killed_takes_its_cluster_along_and_the_folder_can_be_used_again(folder, eventually):
    detached.start_detached(folder, [Node("only", 1, "1g")])
    pid = detached.held_cluster(folder).pid
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: none_with(str(folder)), "all processes to end", 20.0)
    assert not detached.is_running(folder)
    with pytest.raises(PlantError, match="no cluster is running"):
        detached.stop(folder)
    detached.start_detached(folder, [Node("only", 1, "1g")])


def test_a_cluster_that_does_not_start_says_why_and_leaves_nothing(folder, eventually):
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "broken").write_text("a file where the worker wants a folder")
    with pytest.raises(PlantError, match=f"broken exited with code 1.*{folder / 'logs'}"):
        detached.start_detached(folder, [Node("broken")])
    assert not detached.is_running(folder)
    eventually(lambda: none_with(str(folder)), "all processes to end", 20.0)


@pytest.mark.parametrize("ask", [detached.status, detached.connect, detached.stop])
def test_a_folder_without_a_cluster_is_named(ask, tmp_path: Path):
    with pytest.raises(PlantError, match=f"no cluster is running in {tmp_path}"):
        ask(tmp_path)
