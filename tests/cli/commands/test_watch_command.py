from pathlib import Path

from rheostat.cli.commands.watch import JournalTurns
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("line", [Source("in"), Operator("work", inputs="in")])
GOAL = Goal(TOPOLOGY, (SLA("2s", "10s"),), Budget(total=3))


def record(path: Path, heard: list) -> None:  # type: ignore[type-arg]
    plant = FakePlant(TOPOLOGY, arrival_rate=180.0)
    with Journal(path) as journal:
        policy = make_policy("threshold", GOAL)
        Controller(plant, policy, GOAL, journal, LoopOptions("1s"), listeners=[heard.append]).run(for_=30)


def test_turns_of_a_journal_are_those_of_its_controller(tmp_path: Path) -> None:
    heard: list = []  # type: ignore[type-arg]
    record(tmp_path / "run.db", heard)
    with Journal(tmp_path / "run.db", read_only=True) as journal:
        turns = JournalTurns(journal)
        read = list(turns.new())
        assert list(turns.new()) == []
    assert [turn.measures for turn in read] == [turn.measures for turn in heard]
    decided = [[verdict for verdict in turn.verdicts if verdict.ruling != "held"] for turn in heard]
    assert [list(turn.verdicts) for turn in read] == decided


def test_without_a_terminal_it_prints_lines(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    record(tmp_path / "run.db", [])
    code, out, _ = run("watch", str(tmp_path / "run.db"), "--once")
    assert code == 0
    assert "work: scale to 2 executors" in out
    assert "SLA 2s over 10s" in out


def test_what_cannot_be_watched_is_named(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("watch", str(tmp_path / "none.db"))
    assert (code, "there is no journal at" in err) == (2, True)
    Journal(tmp_path / "empty.db").close()
    code, _, err = run("watch", str(tmp_path / "empty.db"))
    assert (code, "no run was recorded" in err) == (2, True)
