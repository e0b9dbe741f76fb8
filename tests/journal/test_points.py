"""Points of a journal, against means computed from the turns themselves."""

from pathlib import Path
from statistics import fmean

import pytest

from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Turn
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("line", [Source("in"), Operator("work", inputs="in")])


def record(path: Path, turns: int) -> list[Turn]:
    """A load that rises beyond two executors, which are all that the budget has."""
    goal = Goal(TOPOLOGY, (SLA("1s", "5s"),), Budget(total=2))
    seen: list[Turn] = []
    plant = FakePlant(TOPOLOGY, arrival_rate=lambda time_s: 40.0 + 4.0 * time_s)
    with Journal(path) as journal:
        policy = make_policy("threshold", goal)
        Controller(plant, policy, goal, journal, LoopOptions("1s"), listeners=[seen.append]).run(for_=turns - 1)
    return seen


def test_a_point_of_several_turns_has_their_means(tmp_path: Path) -> None:
    turns = record(tmp_path / "run.db", 100)
    with Journal(tmp_path / "run.db", read_only=True) as journal:
        points = journal.points(10.0, 89.0, 8)
    assert [(point.from_s, point.until_s, point.turns) for point in points] == [
        (10.0 * n, 10.0 * n + 9.0, 10) for n in range(1, 9)
    ]
    for number, point in enumerate(points, start=1):
        inside = turns[10 * number : 10 * number + 10]
        assert point.input == pytest.approx(fmean(turn.measures.external_rate for turn in inside))
        assert point.longest_s == max(turn.measures.latency_s for turn in inside)
        assert point.missed == fmean(turn.standings[0].missed for turn in inside)
        assert point.planned == fmean(turn.plan.total for turn in inside)
        assert point.queued == pytest.approx(fmean(turn.measures.operators["work"].queued for turn in inside))
        assert point.executor_s == sum(len(turn.snapshot.executors) for turn in inside)
    assert points[0].missed == 0.0
    assert points[-1].missed == 1.0


def test_a_latency_counts_for_as_many_records_as_completed(tmp_path: Path) -> None:
    turns = [turn.snapshot.latency for turn in record(tmp_path / "run.db", 60)[1:]]
    with Journal(tmp_path / "run.db", read_only=True) as journal:
        [point] = journal.points(1.0, 59.0, 1)
    assert point.latency_s == pytest.approx(sum(it.count * it.mean_s for it in turns) / sum(it.count for it in turns))


def test_totals_are_over_everything(tmp_path: Path) -> None:
    turns = record(tmp_path / "run.db", 60)
    judged = [turn.standings[0].missed for turn in turns if turn.standings[0].missed is not None]
    with Journal(tmp_path / "run.db", read_only=True) as journal:
        totals = journal.totals()
        assert journal.points(1000.0, 2000.0, 10) == []
    assert (totals.turns, totals.first_s, totals.last_s) == (60, 0.0, 59.0)
    assert (totals.judged, totals.missed) == (len(judged), sum(judged))


def test_points_outlive_snapshots(tmp_path: Path) -> None:
    goal, plant = Goal(TOPOLOGY), FakePlant(TOPOLOGY)
    with Journal(tmp_path / "run.db", keep_snapshots=10) as journal:
        Controller(plant, make_policy("static", goal), goal, journal, LoopOptions("1s")).run(for_=511)
        assert len(journal.times(1)) == 10
        kept = journal.points(0.0, 1000.0, 1000)
    assert kept[0].from_s == 212.0
    assert len(kept) == 300
