"""Every journal: what is written comes back, in order and complete, and a run can be resumed from it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rheostat.capabilities import Capabilities
from rheostat.decision import Effect, Fuse, Hold, Location, Move, Place, Regroup, Scale, Split, Transfer
from rheostat.errors import JournalError
from rheostat.journal import Journal, NullJournal
from rheostat.journal.goal_record import GoalRecord
from rheostat.journal.records import RunRecord
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import LoopProblem, Outcome, Ruling, Turn, Verdict
from rheostat.plan import Plan
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import ExecutorPhase, ExecutorState, Latency, OperatorState, Snapshot
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "Größe 'n' \"more\"",
    [
        Source("in"),
        Operator("größe ✓", inputs="in"),
        Operator("it's; --", inputs="größe ✓", key="k", substreams=4),
    ],
)
FIRST, SECOND = TOPOLOGY.operators
GOAL = Goal(TOPOLOGY, (SLA("2s"), SLA("1s", operator=FIRST)), Budget(total=9, least={FIRST: 1}, most={SECOND: 4}))
PLAN = Plan.initial(TOPOLOGY, 2)


class Opened:
    """A journal that is opened again before each reading if it is kept in a file."""

    def __init__(self, path: Path | None, again: bool) -> None:
        self._path, self._again = path, again
        self.journal = Journal() if path is None else Journal(path)

    def read(self) -> Journal:
        if self._again and self._path is not None:
            self.journal.close()
            self.journal = Journal(self._path)
        return self.journal


@pytest.fixture(params=["memory", "file", "file that is opened again"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    kept = Opened(None if request.param == "memory" else tmp_path / "run.db", request.param.endswith("again"))
    yield kept
    kept.journal.close()


def run(goal: Goal = GOAL) -> RunRecord:
    return RunRecord(0.0, goal.topology.fingerprint(), GoalRecord.of(goal), "static", {"smoothing": "none"})


def turn(time_s: float, before: Plan = PLAN, plan: Plan | None = None, **more: object) -> Turn:
    snapshot = Snapshot(
        time_s,
        (OperatorState(FIRST, 2**40, 7, None, 0, 1e-9, Latency(3, 0.25)), OperatorState(SECOND)),
        (ExecutorState(SECOND, 3, ExecutorPhase.FAILED, node="n'1"),),
        problems=("what waits is not known",),
    )
    return Turn(time_s=time_s, before=before, plan=plan or before, **{"snapshot": snapshot, **more})  # type: ignore[arg-type]


DECISIONS = (
    Scale(pool=SECOND, executors=3, leaving=(0,), transfers=(Transfer((0, 1), 0, 1),), standby=1, reason="busy"),
    Move(operator=SECOND, transfers=(Transfer((2,), 1, 0),), reason="skew", predicted=Effect(0.1, 0.5, 2)),
    Place(pool=FIRST, locations={0: Location("n1", 2), 1: Location("n2")}, reason="crowded"),
    Regroup(operator=FIRST, grouping="osg", reason="uneven"),
    Fuse(operators=(FIRST, SECOND), reason="near"),
    Split(operators=(FIRST, SECOND), executors=2, reason="busy"),
)


def test_a_new_journal_has_nothing_to_resume(opened: Opened) -> None:
    assert (opened.read().resume(TOPOLOGY), opened.read().last_recorded(5)) == (None, [])


def test_what_was_observed_comes_back_in_order(opened: Opened) -> None:
    opened.journal.begin(run(), PLAN)
    offered = Capabilities(can_place=True, groupings={FIRST: ("osg", "by-key:")}, room=0)
    turns = [turn(float(t), settling=frozenset({SECOND}), capabilities=offered) for t in range(1, 6)]
    for each in turns:
        opened.journal.write(each)
    recorded = list(opened.read().recorded(1))
    assert [each.snapshot for each in recorded] == [each.snapshot for each in turns]
    assert [each.capabilities for each in recorded] == [offered] * 5
    assert {each.settling for each in recorded} == {frozenset({SECOND})}
    assert {each.plan.revision for each in recorded} == {0}


@pytest.mark.parametrize("count", [0, 1, 3, 5, 50])
def test_the_last_observations_come_oldest_first(opened: Opened, count: int) -> None:
    opened.journal.begin(run(), PLAN)
    for time_s in range(1, 6):
        opened.journal.write(turn(float(time_s)))
    times = [each.snapshot.time_s for each in opened.read().last_recorded(count)]
    assert times == [1.0, 2.0, 3.0, 4.0, 5.0][5 - min(count, 5) :]


def test_every_decision_comes_back_with_its_ruling(opened: Opened) -> None:
    opened.journal.begin(run(), PLAN)
    verdicts = tuple(Verdict(decision, Ruling.REFUSED, f"because of {decision.subject}") for decision in DECISIONS)
    hold = Hold(pool=FIRST, reason="fine", predicted=Effect(utilisation=0.5))
    opened.journal.write(turn(1.0, verdicts=(*verdicts, Verdict(hold, Ruling.HELD))))
    kept = opened.read().decisions()
    assert tuple(each.decision for each in kept) == DECISIONS
    assert [each.why for each in kept] == [verdict.why for verdict in verdicts]
    assert opened.read().last_recorded(1)[0].holds == (hold,)


def test_a_run_is_resumed_with_its_last_plan_and_what_is_pending(opened: Opened) -> None:
    opened.journal.begin(run(), PLAN)
    decision = Scale(pool=SECOND, executors=4, reason="busy")
    after = PLAN.after(decision)
    verdict = Verdict(decision, Ruling.ACCEPTED, revision=after.revision)
    opened.journal.write(turn(1.0, plan=after, verdicts=(verdict,)))
    resumed = opened.read().resume(TOPOLOGY)
    assert resumed is not None
    assert (resumed.plan, resumed.last_action_s) == (after, 1.0)
    assert [(each.revision, each.pool, each.accepted_s) for each in resumed.pending] == [(1, SECOND, 1.0)]
    opened.journal.write(turn(2.0, before=after, outcomes=(Outcome(1, Effect(0.2, 0.5, 4)),)))
    resumed = opened.read().resume(TOPOLOGY)
    assert resumed is not None
    assert resumed.pending == ()
    assert opened.read().decisions()[0].observed == Effect(0.2, 0.5, 4)


def test_a_turn_that_cannot_be_written_leaves_nothing(opened: Opened) -> None:
    opened.journal.begin(run(), PLAN)
    after = PLAN.after(DECISIONS[3])
    verdict = Verdict(DECISIONS[3], Ruling.ACCEPTED, revision=after.revision)
    opened.journal.write(turn(1.0, plan=after, verdicts=(verdict,)))
    with pytest.raises(JournalError):
        opened.journal.write(turn(2.0, plan=after, verdicts=(verdict,), problem_changes=(LoopProblem("x", "y"),)))
    assert [each.snapshot.time_s for each in opened.read().recorded(1)] == [1.0]
    assert (len(opened.read().decisions()), opened.read().problems()) == (1, [])


def test_problems_come_back_in_order(opened: Opened) -> None:
    opened.journal.begin(run(), PLAN)
    opened.journal.write(turn(1.0, snapshot=None, problem_changes=(LoopProblem("observe", "down"),)))
    opened.journal.note(1.5, [LoopProblem("apply", "full")])
    opened.journal.write(turn(2.0, problem_changes=(LoopProblem("observe"),)))
    assert opened.read().problems() == [
        (1.0, LoopProblem("observe", "down")),
        (1.5, LoopProblem("apply", "full")),
        (2.0, LoopProblem("observe")),
    ]
    assert len(list(opened.read().recorded(1))) == 1


def test_the_goal_comes_back(opened: Opened) -> None:
    opened.journal.begin(run(), PLAN)
    goal = opened.read().runs()[1].goal.goal()
    assert (goal.slas, goal.budget) == (GOAL.slas, GOAL.budget)
    assert goal.topology.fingerprint() == TOPOLOGY.fingerprint()


def test_a_journal_of_another_topology_is_refused(opened: Opened) -> None:
    opened.journal.begin(run(), PLAN)
    with pytest.raises(JournalError, match="not of 'other'"):
        opened.read().resume(Topology("other", [Source("in"), Operator("a", inputs="in")]))


@pytest.mark.parametrize("kind", ["memory", "file", "none"])
def test_the_loop_runs_with_it_and_goes_on_after_a_restart(kind: str, tmp_path: Path) -> None:
    journal: Journal | NullJournal = NullJournal() if kind == "none" else Journal()
    if kind == "file":
        journal.close()
        journal = Journal(tmp_path / "run.db")
    plant = FakePlant(TOPOLOGY, arrival_rate=180.0, service_rate=100.0)
    for _ in range(2):
        policy = make_policy("threshold", GOAL)
        controller = Controller(plant, policy, GOAL, journal, LoopOptions("10s"))
        started = controller.plan.revision
        controller.run(for_="3m")
        reached = controller.plan.revision
    assert reached >= 1 or started >= 1
    assert (started >= 1) == (kind != "none"), "the second run starts with the plan of the first, if it was kept"
    journal.close()
