"""`rheostat dashboard` and `simulate --dashboard`, as a user runs them."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies.registry import make_policy
from rheostat.sla import Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A command that serves a page: the process, the address and the token."""
    command = [sys.executable, "-m", "rheostat.cli", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.match(r"dashboard: (http://127.0.0.1:\d+/)(?:#token=(\S+))?", said)
        assert found is not None, said
        yield process, found[1], found[2] or ""
    finally:
        process.kill()
        process.communicate()


def opening(url: str) -> dict:  # type: ignore[type-arg]
    return httpx.get(f"{url}api/run").json()


def test_a_journal_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    topology = Topology("line", [Source("in"), Operator("work", inputs="in")])
    goal = Goal(topology)
    with Journal(tmp_path / "run.db") as journal:
        loop = Controller(FakePlant(topology), make_policy("static", goal), goal, journal, LoopOptions("1s"))
        loop.run(for_=20)
    with served("dashboard", str(tmp_path / "run.db"), "--listen", "127.0.0.1:0") as (process, url, token):
        assert (opening(url)["run"]["topology"], token) == ("line", "")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


@pytest.mark.slow
def test_a_simulation_is_served_and_still_is_when_it_has_ended(short: Path) -> None:
    arguments = ("simulate", str(short), "--policy", "threshold", "--dashboard", "127.0.0.1:0", "--pace", "100")
    with served(*arguments) as (process, url, token):
        assert token
        deadline_s = time.monotonic() + 200
        while not opening(url)["controls"]["finished"]:
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        assert opening(url)["run"]["totals"]["last_s"] == 20.0
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "success rate" in output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--pace", "10"], "--pace 10 needs --dashboard"),
        (["--dashboard", "--runs", "2"], "--dashboard shows a single run, not --runs 2"),
        (["--dashboard", "127.0.0.1:many"], "dashboard '127.0.0.1:many' is no address"),
    ],
)
def test_what_cannot_be_shown_is_refused(run, short: Path, arguments: list[str], why: str) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("simulate", str(short), *arguments)
    assert (code, why in err) == (2, True), err


def test_a_page_of_no_journal_is_refused(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("dashboard", str(tmp_path / "none.db"))
    assert (code, "there is no journal at" in err) == (2, True)
