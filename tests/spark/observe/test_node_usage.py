import socket
from pathlib import Path

import pytest

from rheostat.spark.observe.node_usage import NodeUsage, is_this_machine
from rheostat.spark.observe.status_store import ExecutorSummary


def write(proc: Path, *, busy: int, idle: int, io_wait: int) -> None:
    (proc / "stat").write_text(f"cpu  {busy} 0 0 {idle} {io_wait} 0 0 0 0 0\ncpu0 1 2 3\n")
    (proc / "meminfo").write_text("MemTotal:  1000 kB\nMemFree:  1 kB\nMemAvailable:  250 kB\n")


def executor(host: str, slots: int = 2) -> ExecutorSummary:
    return ExecutorSummary(id="1", host_port=f"{host}:4711", slots=slots)


def test_this_machine_is_as_busy_as_its_kernel_says_since_the_last_reading(tmp_path):
    write(tmp_path, busy=100, idle=100, io_wait=0)
    nodes = NodeUsage({"127.0.0.2": "left"}, proc=tmp_path)
    nodes.see([executor("127.0.0.2"), executor("127.0.0.2", 3)])
    write(tmp_path, busy=160, idle=120, io_wait=20)
    [node] = nodes.read()
    assert (node.name, node.slots, node.memory_bytes) == ("left", 5, 1000 * 1024)
    assert node.cpu == pytest.approx(0.6)
    assert node.io == pytest.approx(0.2)
    assert node.memory == pytest.approx(0.75)
    assert nodes.problems() == ()


def test_before_the_kernels_clock_has_ticked_nothing_is_known(tmp_path):
    write(tmp_path, busy=1, idle=1, io_wait=0)
    nodes = NodeUsage(proc=tmp_path)
    nodes.see([executor("localhost")])
    assert nodes.read()[0].cpu is None


def test_other_machines_are_listed_and_said_to_be_unknown(tmp_path):
    nodes = NodeUsage(proc=tmp_path)
    nodes.see([executor("10.9.8.7")])
    [node] = nodes.read()
    assert (node.name, node.slots, node.cpu, node.memory) == ("10.9.8.7", 2, None, None)
    assert "10.9.8.7" in nodes.problems()[0]


def test_a_machine_without_proc_files_is_unknown_as_well(tmp_path):
    nodes = NodeUsage(proc=tmp_path / "none")
    nodes.see([executor("127.0.0.1")])
    [node] = nodes.read()
    assert (node.cpu, node.memory, node.memory_bytes) == (None, None, None)


def test_a_machine_whose_executors_have_left_stays_with_no_slots(tmp_path):
    nodes = NodeUsage(proc=tmp_path)
    nodes.see([executor("127.0.0.1")])
    nodes.see([])
    assert nodes.read()[0].slots == 0


def test_loopback_addresses_and_our_own_name_are_this_machine():
    assert is_this_machine("127.0.0.3")
    assert is_this_machine(socket.gethostname())
    assert not is_this_machine("192.0.2.77")


def test_the_nodes_of_a_known_cluster_are_there_without_executors_with_the_cores_they_offer(tmp_path):
    nodes = NodeUsage({"127.0.0.2": "left", "127.0.0.3": "right"}, {"127.0.0.2": 4, "127.0.0.3": 8}, tmp_path)
    nodes.see([])
    assert [(node.name, node.slots, node.cores) for node in nodes.read()] == [("left", 4, 4.0), ("right", 8, 8.0)]
