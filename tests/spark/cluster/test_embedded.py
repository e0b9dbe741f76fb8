import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests

from rheostat.errors import ConfigError, PlantError
from rheostat.spark.cluster.address import loopback_host
from rheostat.spark.cluster.daemon import daemon_environment
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node, resource_of
from rheostat.spark.install.jvm_extras import JvmExtras
from rheostat.spark.processes.watchdog import Process, group_members, process_table
from rheostat.spark.state.stage_placement import pin

pytestmark = pytest.mark.spark


def descendants(pid: int) -> set[int]:
    table = {child: Process(it.parent, -1) for child, it in process_table().items()}
    table[pid] = Process(0, -2)
    return group_members({-2}, table)


def none_of(pids: set[int]) -> bool | None:
    return True if process_table().keys().isdisjoint(pids) else None


def test_the_master_knows_each_node_with_its_declared_size_and_an_address_of_its_own(cluster):
    status = cluster.status()
    assert [(n.name, n.alive, n.cores, n.memory_mb, n.labels) for n in status.nodes] == [
        ("left", True, 4, 8192, ()),
        ("right", True, 4, 8192, ("big",)),
    ]
    assert [n.host for n in status.nodes] == [loopback_host(2), loopback_host(3)]
    assert status.master_url.startswith("spark://127.0.0.1:")


def test_an_application_shows_in_the_status_with_the_cores_it_holds(spark, cluster):
    assert spark.range(10, numPartitions=1).count() == 10
    status = cluster.status()
    assert [(app.name, app.state) for app in status.applications] == [("tests", "RUNNING")]
    assert status.applications[0].cores == sum(node.cores_used for node in status.nodes) > 0
    assert all(node.cores_free == node.cores - node.cores_used for node in status.nodes)


def test_the_secret_is_no_argument_of_any_process_and_in_no_file_that_others_can_read(spark, cluster):
    secret = cluster.address.secret
    assert secret not in _all_arguments()
    assert secret not in repr(cluster.address)
    folder = cluster.logs.parent
    holding = [file for file in folder.rglob("*.conf") if secret in file.read_text()]
    assert {file.name for file in holding} == {"master.conf", "left.conf", "right.conf", "spark-defaults.conf"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in holding} == {0o600}


def test_an_application_without_the_secret_is_refused(cluster, tmp_path, eventually):
    script = "import sys; from pyspark.sql import SparkSession as S; S.builder.master(sys.argv[1]).getOrCreate()"
    log = tmp_path / "log"
    with log.open("w") as output:
        intruder = subprocess.Popen([sys.executable, "-c", script, cluster.master_url], stdout=output, stderr=output)
    try:
        eventually(lambda: "Failed to connect to master" in log.read_text() or None, "a refusal")
        assert "Expected SaslMessage" in log.read_text()
        assert [app.name for app in cluster.status().applications if app.name != "tests"] == []
    finally:
        _end(intruder)


def test_a_profile_that_asks_for_a_label_gets_executors_on_that_node_only(spark, cluster):
    label = resource_of("big")
    requests = ExecutorResourceRequests().cores(1).memory("512m").resource(label, 1)
    tasks = TaskResourceRequests().cpus(1).resource(label, 0.001)
    profile = ResourceProfileBuilder().require(requests).require(tasks).build
    assert pin(spark.range(100, numPartitions=2), profile).count() == 100
    hosts = {entry.split(":")[0] for entry in _executor_hosts(spark, profile.id)}
    assert hosts == {node.host for node in cluster.status().nodes if "big" in node.labels}


@pytest.mark.slow
def test_a_node_can_be_added_is_missed_when_it_dies_and_can_come_back(tmp_path, eventually):
    with EmbeddedCluster([Node("first", 1, "1g")], directory=tmp_path) as cluster:
        cluster.add_node(Node("second", 1, "1g"))
        assert [node.alive for node in cluster.status().nodes] == [True, True]
        os.kill(cluster.worker_pid("second"), signal.SIGKILL)
        eventually(lambda: not cluster.status().nodes[1].alive or None, "the master to miss the node")
        cluster.add_node(Node("third", 1, "1g"))
        assert [node.alive for node in cluster.status().nodes] == [True, False, True]
        cluster.add_node(Node("second", 1, "1g"))
        assert [node.alive for node in cluster.status().nodes] == [True, True, True]
        with pytest.raises(ConfigError, match="'second' is already running"):
            cluster.add_node(Node("second", 1, "1g"))
        with pytest.raises(PlantError, match="already running"):
            cluster.start()
        assert str(tmp_path) in _all_arguments()
    assert str(tmp_path) not in _all_arguments()
    cluster.stop()
    assert (tmp_path / "logs" / "second.log").exists()
    assert not (tmp_path / "scratch").exists()
    assert not (tmp_path / "conf").exists()
    with pytest.raises(PlantError, match="not running"):
        cluster.status()


_DOOMED = textwrap.dedent("""
    import os, pathlib, sys, time
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import Node
    from rheostat.spark.session import build_session

    folder = pathlib.Path(sys.argv[1])

    def never_ends(batches):
        (folder / f"worker-{os.getpid()}").touch()
        time.sleep(600)
        return batches

    cluster = EmbeddedCluster([Node("only", 2, "2g")], directory=folder / "cluster").start()
    settings = {"spark.executor.cores": 2, "spark.executor.memory": "512m"}
    spark = build_session("doomed", cluster=cluster, settings=settings)
    spark.range(2, numPartitions=2).mapInArrow(never_ends, "id long").collect()
""")


@pytest.mark.slow
def test_after_sigkill_no_process_is_left_not_even_a_python_worker_in_a_task(tmp_path, eventually):
    with (tmp_path / "log").open("w") as log:
        script = subprocess.Popen([sys.executable, "-c", _DOOMED, str(tmp_path)], stdout=log, stderr=log)
    try:
        eventually(lambda: len(list(tmp_path.glob("worker-*"))) == 2 or None, "two busy Python workers", 120.0)
        family = descendants(script.pid)
        workers = {int(file.name.removeprefix("worker-")) for file in tmp_path.glob("worker-*")}
        assert family > workers
        script.kill()
        script.wait()
        eventually(lambda: none_of(family), "all processes to end", 30.0)
    finally:
        _end(script)
    assert not (tmp_path / "cluster" / "scratch").exists()
    assert (tmp_path / "cluster" / "logs" / "master.log").exists()


def test_a_port_in_use_is_named_with_the_folder_of_the_logs(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PlantError, match=f"port {port} in use.*{tmp_path / 'logs'}"):
            EmbeddedCluster([Node("a")], directory=tmp_path, port=port).start()


def test_a_worker_that_dies_at_its_start_is_named_and_nothing_is_left(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "broken").write_text("a file where the worker wants a folder")
    with pytest.raises(PlantError, match=f"broken exited with code 1.*{tmp_path / 'logs'}"):
        EmbeddedCluster([Node("broken")], directory=tmp_path).start()
    assert str(tmp_path) not in _all_arguments()


def test_a_deadline_that_passes_is_an_error_that_says_what_was_awaited(tmp_path):
    with pytest.raises(PlantError, match="waited 10ms for the master to start"):
        EmbeddedCluster([Node("a")], directory=tmp_path, deadline="10ms").start()
    assert str(tmp_path) not in _all_arguments()


def test_without_java_the_cluster_says_so_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(PlantError, match="no Java at"):
        EmbeddedCluster([Node("a")], directory=tmp_path).start()


def test_the_environment_of_another_spark_does_not_reach_the_daemons(monkeypatch):
    monkeypatch.setenv("SPARK_MASTER_PORT", "1")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "2")
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", "/jars/*")
    environ = daemon_environment("127.0.0.2", Path("/scratch"), JvmExtras(helpers=Path("/helpers.jar")))
    assert "SPARK_MASTER_PORT" not in environ
    assert "PYSPARK_GATEWAY_PORT" not in environ
    assert environ["SPARK_DIST_CLASSPATH"] == f"/jars/*{os.pathsep}/helpers.jar"
    assert environ["SPARK_LOCAL_IP"] == "127.0.0.2"


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_refused(port):
    with pytest.raises(ConfigError, match=f"port {port} does not exist"):
        EmbeddedCluster([Node("a")], port=port)


def test_a_cluster_without_nodes_is_refused():
    with pytest.raises(ConfigError, match="without nodes"):
        EmbeddedCluster([])


def _executor_hosts(spark, profile_id: int) -> list[str]:
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    rows = [executors.apply(i) for i in range(executors.size())]
    return [row.hostPort() for row in rows if row.id() != "driver" and row.resourceProfileId() == profile_id]


def _all_arguments() -> str:
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True)
    return listing.stdout


def _end(process: "subprocess.Popen[bytes]") -> None:
    for pid in descendants(process.pid) & process_table().keys():
        os.kill(pid, signal.SIGKILL)
    process.wait()
