"""File locks: held by one at a time, and free again when the holder is gone."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rheostat.filelock import FileLock, is_locked

_HOLDER = """
import pathlib, sys
from rheostat.filelock import FileLock
lock = FileLock(pathlib.Path(sys.argv[1]))
print(lock.held_by_another, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_a_second_holder_is_refused_until_the_first_releases(path: Path) -> None:
    first = FileLock(path)
    assert not first.held_by_another
    assert is_locked(path)
    assert FileLock(path).held_by_another
    first.release()
    assert not is_locked(path)
    assert not FileLock(path).held_by_another


def test_a_path_that_does_not_exist_is_not_locked(path: Path) -> None:
    assert not is_locked(path)
    assert not path.exists()


def test_one_who_waits_gets_it_when_it_is_released(path: Path) -> None:
    events: list[str] = []

    def wait() -> None:
        with FileLock(path, wait=True) as lock:
            events.append("second" if not lock.held_by_another else "refused")

    with FileLock(path):
        thread = threading.Thread(target=wait)
        thread.start()
        events.append("first")
    thread.join(20)
    assert events == ["first", "second"]
    assert not is_locked(path)


def test_a_holder_that_dies_releases_it(path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "False\n"
        assert is_locked(path)
        holder.kill()
    assert not is_locked(path)
