"""The watchdog, with sleeping processes in place of Spark's."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rheostat.spark.processes import watchdog
from rheostat.spark.processes.watchdog import Process, group_members, process_table

_PARENT = textwrap.dedent("""
    import os, subprocess, sys
    watchdog, folder = sys.argv[1:3]
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", watchdog, str(os.getpid()), folder], stdin=subprocess.PIPE, process_group=0
    )
    # A daemon whose child, as Spark's Python workers do, makes a process group of its own.
    child = "import os, time; os.setpgid(0, 0); print(os.getpid(), flush=True); time.sleep(600)"
    daemon = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    worker = subprocess.Popen(
        [sys.executable, "-c", daemon], stdout=subprocess.PIPE, text=True, process_group=guard.pid
    )
    if "fork" in sys.argv and os.fork() == 0:
        import time
        time.sleep(600)
    print(guard.pid, worker.pid, worker.stdout.readline().strip(), flush=True)
    sys.stdin.read()
""")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    doomed = tmp_path / "scratch"
    doomed.mkdir()
    (doomed / "file").write_text("left over")
    return doomed


def start_parent(folder: Path, *options: str) -> tuple["subprocess.Popen[str]", list[int]]:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, watchdog.__file__, str(folder), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert parent.stdout is not None
    return parent, [int(pid) for pid in parent.stdout.readline().split()]


def none_of(pids: list[int]) -> bool | None:
    return True if process_table().keys().isdisjoint(pids) else None


@pytest.mark.parametrize("killer", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_whatever_kills_the_parent_its_processes_and_their_children_end(folder, eventually, killer):
    parent, pids = start_parent(folder)
    with parent:
        assert len(pids) == 3
        assert process_table().keys() >= set(pids)
        parent.send_signal(killer)
    eventually(lambda: none_of(pids), "the processes to end", 20.0)
    assert not folder.exists()


def test_a_forked_process_that_holds_the_pipe_does_not_keep_the_cluster_alive(folder, eventually):
    parent, pids = start_parent(folder, "fork")
    try:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        eventually(lambda: none_of(pids), "the processes to end", 20.0)
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.close()
        parent.stdout.close()


def test_a_clean_end_of_the_parent_ends_them_too(folder, eventually):
    parent, pids = start_parent(folder)
    parent.communicate("", timeout=20)
    eventually(lambda: none_of(pids), "the processes to end", 20.0)


def test_signals_do_not_divert_the_watchdog(folder, eventually):
    parent, pids = start_parent(folder)
    with parent:
        # Sent twice: the first may come before the watchdog has learned to ignore it.
        eventually(lambda: _ignores_sigterm(pids[0]), "the watchdog to be ready", 20.0)
        os.kill(pids[0], signal.SIGTERM)
        os.kill(pids[0], signal.SIGINT)
        assert process_table().keys() >= set(pids)
        parent.kill()
    eventually(lambda: none_of(pids), "the processes to end", 20.0)


def _ignores_sigterm(pid: int) -> bool | None:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
    return True if mask & (1 << (signal.SIGTERM - 1)) else None


def test_members_are_those_of_the_groups_their_descendants_and_the_groups_of_these():
    table = {
        1: Process(0, 1),
        10: Process(1, 10),  # the outer world
        20: Process(10, 20),  # the watchdog's group
        21: Process(10, 20),
        30: Process(21, 30),  # a descendant with a group of its own
        31: Process(1, 30),  # an orphan of that group
        40: Process(31, 10),  # its child that joined a group outside, which must not draw the others in
    }
    groups = {20}
    assert group_members(groups, table) == {20, 21, 30, 31, 40}
    assert groups == {20, 30}


def test_an_unknown_group_has_no_members():
    assert group_members({99}, {1: Process(0, 1)}) == set()
