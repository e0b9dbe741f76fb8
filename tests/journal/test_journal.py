import os
import random
import signal
import sqlite3
from types import SimpleNamespace

import msgspec
import pytest

from rheostat.capabilities import Capabilities
from rheostat.clock import ManualClock
from rheostat.decision import Effect, Fuse, Hold, Move, Regroup, Scale, Split, Transfer
from rheostat.errors import ConfigError, JournalError
from rheostat.journal import Journal, NullJournal
from rheostat.journal import file as journal_file
from rheostat.journal.file import SCHEMA_VERSION
from rheostat.journal.goal_record import GoalRecord
from rheostat.journal.records import RunRecord
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import LoopProblem, Outcome, Ruling, Turn, Verdict
from rheostat.plan import Plan
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import (
    Batch,
    ExecutorPhase,
    ExecutorState,
    Latency,
    NodeState,
    OperatorState,
    Snapshot,
    StreamState,
    SubstreamState,
)
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "words",
    [
        Source("in", rate=50.0),
        Operator("split", inputs=["in", "split.rest"], outputs={"words": 3.0, "rest": 0.25}),
        Operator("part", inputs="split.words", key="word", substreams=4, merge="total"),
        Operator("total", inputs="part", key="word", selectivity=0.5),
    ],
)
GOAL = Goal(
    TOPOLOGY,
    (SLA("2s", "10s"), SLA("1s", operator="part"), SLA("900ms", path=["part", "total"])),
    Budget(total=9, least={"part": 2}, most={"total": 4}),
)
PLAN = Plan.initial(TOPOLOGY, 2)
FULL_SNAPSHOT = Snapshot(
    7.5,
    (
        OperatorState(
            "split", 10, 9, 0, 1, 0.5, Latency(9, 0.1, 0.1, 0.2, 0.3, 1.1), 0.4, 1.0, 0.9, Batch(3, 1.5, 0.2, 6)
        ),
    ),
    (ExecutorState("split", 0, ExecutorPhase.ACTIVE, 10, 9, 1, 0.5, 0.4, 1.0, "node-a", 0, "exec-1"),),
    (SubstreamState("part", 0, 1, 5, 4, 1, 1024), SubstreamState("part", 1)),
    (StreamState("in", "split", 10, 400),),
    (NodeState("node-a", 4, 2.0, 1 << 30, 0.5, 0.25, 0.1),),
    Latency(9, 0.2),
    ("node-b did not answer",),
)


def run(goal=GOAL, **more):
    fields = {"started_s": 0.0, "policy": "static", "options": {"smoothing": "none", "executors": None}, **more}
    return RunRecord(fingerprint=goal.topology.fingerprint(), goal=GoalRecord.of(goal), **fields)


def period(time_s=10.0, before=PLAN, plan=None, snapshot=None, **more):
    seen = Snapshot(time_s, ()) if snapshot is None else snapshot
    return Turn(time_s=time_s, before=before, plan=plan or before, snapshot=seen, **more)


def scale(executors):
    return Scale(pool="part", executors=executors, reason="test", predicted=Effect(0.5, 0.6, executors))


def accepted(plan, executors):
    decision = scale(executors)
    after = plan.after(decision)
    return after, Verdict(decision, Ruling.ACCEPTED, revision=after.revision)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.journal"


@pytest.fixture(params=["memory", "file"])
def journal(request, path):
    with Journal(*([path] if request.param == "file" else [])) as opened:
        opened.begin(run(), PLAN)
        yield opened


def test_a_snapshot_comes_back_as_it_was(journal):
    offered = Capabilities(can_fuse=True, groupings={"split": ("osg",)}, room=3, short=frozenset(["part"]), reserved=1)
    journal.write(period(snapshot=FULL_SNAPSHOT, capabilities=offered, settling=frozenset(["part", "split"])))
    [recorded] = journal.recorded(1)
    assert (recorded.snapshot, recorded.capabilities) == (FULL_SNAPSHOT, offered)
    assert (recorded.plan, recorded.settling, recorded.run) == (PLAN, {"part", "split"}, 1)


def test_every_kind_of_decision_comes_back_with_what_became_of_it(journal):
    after, verdict = accepted(PLAN, 3)
    move = Move(operator="total", reason="b", transfers=(Transfer((1, 2), 0, 1),))
    regroup = Regroup(operator="split", reason="c", grouping="osg")
    fuse, split = (
        Fuse(operators=("split", "part"), reason="d"),
        Split(operators=("split", "part"), reason="e", executors=2),
    )
    hold = Hold(pool="split", reason="fine", predicted=Effect(utilisation=0.5))
    verdicts = (
        verdict,
        Verdict(move, Ruling.REFUSED, "paused"),
        Verdict(regroup, Ruling.DRY_RUN, "dry run"),
        Verdict(fuse, Ruling.REFUSED, "paused"),
        Verdict(split, Ruling.REFUSED, "paused"),
        Verdict(hold, Ruling.HELD),
    )
    journal.write(period(plan=after, verdicts=verdicts))
    assert [(d.decision, d.ruling, d.why, d.revision) for d in journal.decisions()] == [
        (scale(3), Ruling.ACCEPTED, "", 1),
        (move, Ruling.REFUSED, "paused", None),
        (regroup, Ruling.DRY_RUN, "dry run", None),
        (fuse, Ruling.REFUSED, "paused", None),
        (split, Ruling.REFUSED, "paused", None),
    ]
    [recorded] = journal.recorded(1)
    assert recorded.holds == (hold,)


def test_an_outcome_is_found_beside_its_decision(journal):
    after, verdict = accepted(PLAN, 3)
    journal.write(period(10.0, plan=after, verdicts=(verdict,)))
    journal.write(period(20.0, after, outcomes=(Outcome(1, Effect(0.4, 0.7, 3)),)))
    [decision] = journal.decisions()
    assert (decision.decision.predicted, decision.observed) == (Effect(0.5, 0.6, 3), Effect(0.4, 0.7, 3))


def test_plans_come_back_by_revision_and_a_snapshot_knows_the_one_that_was_in_force(journal):
    after, verdict = accepted(PLAN, 4)
    journal.write(period(10.0, plan=after, verdicts=(verdict,)))
    journal.write(period(20.0, after))
    assert journal.plans() == [(0.0, PLAN), (10.0, after)]
    assert [recorded.plan for recorded in journal.recorded(1)] == [PLAN, after]


def test_problems_come_back_in_order(journal):
    journal.write(period(10.0, problem_changes=(LoopProblem("observe", "down"),)))
    journal.note(12.0, [LoopProblem("apply", "full")])
    journal.write(Turn(time_s=20.0, before=PLAN, plan=PLAN, problem_changes=(LoopProblem("observe"),)))
    assert journal.problems() == [
        (10.0, LoopProblem("observe", "down")),
        (12.0, LoopProblem("apply", "full")),
        (20.0, LoopProblem("observe")),
    ]
    assert len(list(journal.recorded(1))) == 1


def test_a_new_journal_has_nothing_to_resume(path):
    with Journal(path) as journal:
        assert journal.resume(TOPOLOGY) is None


def test_resuming_finds_the_plan_the_last_action_and_what_is_pending(journal):
    first, one = accepted(PLAN, 3)
    second, other = accepted(first, 4)
    journal.write(period(10.0, plan=first, verdicts=(one,)))
    journal.write(period(20.0, first, plan=second, verdicts=(other,)))
    journal.write(period(30.0, second))
    resumed = journal.resume(TOPOLOGY)
    assert (resumed.plan, resumed.last_action_s) == (second, 20.0)
    assert [(each.revision, each.pool, each.accepted_s) for each in resumed.pending] == [(2, "part", 20.0)]
    journal.write(period(40.0, second, outcomes=(Outcome(2, note="done"), Outcome(1, note="replaced"))))
    assert journal.resume(TOPOLOGY).pending == ()


def test_a_starting_plan_is_no_action(journal):
    assert journal.resume(TOPOLOGY).last_action_s is None


def test_the_last_observations_are_found_over_runs(journal):
    for time_s in (10.0, 20.0):
        journal.write(period(time_s))
    journal.begin(run(policy="threshold", options={}), PLAN)
    for time_s in (30.0, 40.0):
        journal.write(period(time_s))
    assert [r.snapshot.time_s for r in journal.last_recorded(3)] == [20.0, 30.0, 40.0]
    assert [r.snapshot.time_s for r in journal.last_recorded(3, before_run=2)] == [10.0, 20.0]
    assert [r.snapshot.time_s for r in journal.recorded(2)] == [30.0, 40.0]
    assert [(n, r.policy) for n, r in journal.runs().items()] == [(1, "static"), (2, "threshold")]


def test_long_runs_are_read_page_by_page(journal):
    for time_s in range(1200):
        journal.write(period(float(time_s)))
    assert [r.snapshot.time_s for r in journal.recorded(1)] == list(range(1200))


def test_old_snapshots_are_let_go_of_and_decisions_stay(path):
    with Journal(path, keep_snapshots=100) as journal:
        journal.begin(run(), PLAN)
        plan = PLAN
        for number in range(1000):
            after, verdict = accepted(plan, 2 + number % 2)
            journal.write(period(float(number), plan, plan=after, verdicts=(verdict,)))
            plan = after
        assert 100 <= len(list(journal.recorded(1))) < 200
        assert len(journal.decisions()) == 1000
        assert journal.resume(TOPOLOGY).plan == plan


def test_keeping_no_snapshot_is_refused(path):
    with pytest.raises(ConfigError, match="keep_snapshots 0"):
        Journal(path, keep_snapshots=0)


def test_a_goal_comes_back_from_its_record():
    again = msgspec.json.decode(msgspec.json.encode(GoalRecord.of(GOAL)), type=GoalRecord).goal()
    assert again == GOAL
    assert again.topology.fingerprint() == TOPOLOGY.fingerprint()


def test_a_journal_of_another_topology_is_refused_with_both_names(journal):
    other = Topology("other", [Source("in"), Operator("x", inputs="in")])
    with pytest.raises(JournalError, match=r"is of topology 'words', not of 'other': .*operator 'x' is new"):
        journal.resume(other)


def test_a_journal_of_the_topology_before_a_change_is_refused_by_what_differs(journal):
    changed = Topology(TOPOLOGY.name, [*TOPOLOGY.parts, Operator("x", inputs=next(iter(TOPOLOGY.sources)))])
    with pytest.raises(JournalError, match="'words', which has changed since: operator 'x' is new: use another file"):
        journal.resume(changed)


def test_reading_a_journal_that_is_not_there_is_refused(path):
    with pytest.raises(JournalError, match=r"there is no journal at .*run.journal"):
        Journal(path, read_only=True)
    assert not path.exists()


def test_a_file_that_is_no_database_is_refused(path):
    path.write_text("a shopping list, and a rather long one: " + "milk, " * 500)
    with pytest.raises(JournalError, match=r"run\.journal: file is not a database"):
        Journal(path)


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(JournalError, match="unable to open database file"):
        Journal(tmp_path)


def test_a_directory_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(JournalError, match="cannot be written: No such file or directory"):
        Journal(tmp_path / "nowhere" / "run.journal")


def test_another_programs_database_is_refused_and_left_as_it_is(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE customers (name)")
    other.close()
    with pytest.raises(JournalError, match="is a database, but not a journal of Rheostat"):
        Journal(path)
    with pytest.raises(JournalError, match="is a database, but not a journal of Rheostat"):
        Journal(path, read_only=True)


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (SCHEMA_VERSION + 1, "use a newer Rheostat"),
        (SCHEMA_VERSION - 1, "use another file, or the version that wrote it"),
    ],
)
def test_another_schema_is_refused_with_both_numbers(path, version, advice):
    Journal(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version = {version}")
    raw.close()
    with pytest.raises(JournalError, match=f"has schema {version}, .* reads schema {SCHEMA_VERSION}: {advice}"):
        Journal(path)


def test_a_damaged_journal_is_an_error_that_names_the_file(path):
    with Journal(path) as journal:
        journal.begin(run(), PLAN)
        for time_s in range(200):
            journal.write(period(float(time_s), snapshot=msgspec.structs.replace(FULL_SNAPSHOT, time_s=float(time_s))))
    damaged = bytearray(path.read_bytes())
    damaged[8192:-4096] = b"\xff" * (len(damaged) - 12288)
    path.write_bytes(damaged)
    with Journal(path, read_only=True) as journal, pytest.raises(JournalError, match=r"run\.journal: .*malformed"):
        list(journal.recorded(1))


def test_a_snapshot_that_cannot_be_read_is_named(path):
    with Journal(path) as journal:
        journal.begin(run(), PLAN)
        journal.write(period())
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE snapshots SET body = x'00112233'")
    raw.close()
    with Journal(path, read_only=True) as journal, pytest.raises(JournalError, match="snapshot 1 cannot be read"):
        list(journal.recorded(1))


def test_a_second_controller_on_the_same_journal_is_refused_but_readers_are_not(path):
    with Journal(path) as writer:
        writer.begin(run(), PLAN)
        with pytest.raises(JournalError, match="is in use by another controller"):
            Journal(path)
        with Journal(path, read_only=True) as reader:
            writer.write(period(10.0))
            assert len(list(reader.recorded(1))) == 1
    Journal(path).close()


def test_a_reader_cannot_write(path):
    Journal(path).close()
    with Journal(path, read_only=True) as reader, pytest.raises(JournalError, match="readonly"):
        reader.begin(run(), PLAN)


def test_a_turn_is_written_whole_or_not_at_all(journal):
    after, verdict = accepted(PLAN, 3)
    journal.write(period(10.0, plan=after, verdicts=(verdict,)))
    with pytest.raises(JournalError, match="UNIQUE"):
        journal.write(period(20.0, plan=after, verdicts=(verdict,), problem_changes=(LoopProblem("x", "y"),)))
    assert len(list(journal.recorded(1))) == 1
    assert journal.problems() == []
    journal.write(period(30.0, after))


def test_a_null_journal_takes_everything_and_gives_nothing():
    journal = NullJournal()
    journal.begin(run(), PLAN)
    journal.write(period())
    journal.note(1.0, [LoopProblem("x", "y")])
    assert (journal.resume(TOPOLOGY), journal.last_recorded(5)) == (None, [])
    journal.close()


CRASHING = Topology("crash", [Source("in"), Operator("work", inputs="in", key="k", substreams=8)])


class TellingPlant(FakePlant):
    """Writes down, where a crash cannot undo it, which plans it was told."""

    def __init__(self, told, start_s):
        super().__init__(
            CRASHING,
            arrival_rate=lambda time_s: 900 if int(time_s / 200) % 2 else 50,
            clock=ManualClock(start_s),
            settle_s=15,
        )
        self._told = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def apply(self, plan):
        os.write(self._told, b"%d\n" % plan.revision)
        return super().apply(plan)


def work(path, told, start_s, on_statement=None, on_turn=()):
    """A controller at work until somebody ends it; `on_statement` is called before each SQL statement."""
    connect = sqlite3.connect

    def traced(*args, **kwargs):
        connection = connect(*args, **kwargs)
        connection.set_trace_callback(on_statement)
        return connection

    journal_file.sqlite3 = SimpleNamespace(connect=traced, Error=sqlite3.Error, Connection=sqlite3.Connection)
    goal = Goal(CRASHING, budget=Budget(total=9))
    with Journal(path, keep_snapshots=150) as journal:
        options = LoopOptions("10s", history=20)
        plant = TellingPlant(told, start_s)
        Controller(plant, make_policy("threshold", goal), goal, journal, options, listeners=on_turn).run()


def fork(do, *args, **kwargs):
    """`do` in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            do(*args, **kwargs)
        finally:
            os._exit(1)
    return child


def work_until_killed(*args):
    """The controller in a process of its own, which ends by its own hand."""
    child = fork(work, *args)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def killed_before_statement(number):
    """What kills its own process when it is called for the `number`th time."""
    left = iter(range(number - 1, -1, -1))
    return lambda statement: next(left) or os.kill(os.getpid(), signal.SIGKILL)


def check_invariants(path, told):
    """The newest revision and the time of the newest snapshot, if all that must be true is true."""
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()
    with Journal(path) as journal:
        plans = {plan.revision: plan for _, plan in journal.plans()}
        decided = [d.revision for d in journal.decisions() if d.ruling is Ruling.ACCEPTED]
        assert decided == list(range(1, len(decided) + 1)), "an accepted decision is missing"
        assert max(plans, default=0) == len(decided), "the newest plan and the newest decision belong together"
        recorded = [each for number in journal.runs() for each in journal.recorded(number)]
        assert all(each.plan == plans[each.plan.revision] for each in recorded)
        revisions_told = [int(line) for line in told.read_text().splitlines()]
        assert set(revisions_told) <= plans.keys(), "a plan was applied that was not written down"
        resumed = journal.resume(CRASHING)
        assert resumed is None or resumed.plan == plans[max(plans)]
        return len(decided), max((each.snapshot.time_s for each in recorded), default=0.0)


def test_a_crash_before_any_statement_of_the_first_turns_leaves_a_journal_to_go_on_with(tmp_path):
    told = tmp_path / "told"
    for statement in range(1, 60):
        path = tmp_path / f"{statement}.journal"
        told.write_text("")
        work_until_killed(path, told, 0.0, killed_before_statement(statement))
        _, last_s = check_invariants(path, told)
        if statement % 5 == 0:
            work_until_killed(path, told, last_s, killed_before_statement(60))
            check_invariants(path, told)


def test_a_controller_that_crashes_again_and_again_goes_on_each_time(path, tmp_path):
    told, rng = tmp_path / "told", random.Random(5)
    told.touch()
    revision, last_s = 0, 0.0
    for _ in range(25):
        work_until_killed(path, told, last_s, killed_before_statement(rng.randint(10, 200)))
        newest, now_s = check_invariants(path, told)
        assert (newest, now_s) >= (revision, last_s)
        revision, last_s = newest, now_s
    assert revision > 10
    assert last_s > 300


def test_the_journal_survives_a_kill_from_outside_at_any_moment(path, tmp_path):
    told, rng = tmp_path / "told", random.Random(6)
    told.touch()
    last_s = 0.0
    for _ in range(12):
        reader, writer = os.pipe()
        child = fork(work, path, told, last_s, on_turn=[lambda period, end=writer: os.write(end, b".")])
        os.close(writer)
        try:
            for _ in range(rng.randint(1, 50)):
                assert os.read(reader, 1) == b"."
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
        _, last_s = check_invariants(path, told)


def test_a_stopped_and_resumed_controller_decides_as_one_that_never_stopped(path):
    topology = Topology("one", [Source("in"), Operator("work", inputs="in")])
    goal = Goal(topology)

    def run_until(plant, journal, time_s):
        Controller(plant, make_policy("threshold", goal), goal, journal, LoopOptions("10s")).run(until_s=time_s)

    whole = Journal()
    run_until(FakePlant(topology, arrival_rate=330), whole, 180.0)
    plant = FakePlant(topology, arrival_rate=330)
    for time_s in (60.0, 70.0, 180.0):
        with Journal(path) as journal:
            run_until(plant, journal, time_s)
    with Journal(path, read_only=True) as pieces:
        assert [(d.time_s, d.decision) for d in pieces.decisions()] == [
            (d.time_s, d.decision) for d in whole.decisions()
        ]
        times = [r.snapshot.time_s for number in pieces.runs() for r in pieces.recorded(number)]
        assert times == [10.0 * turn for turn in range(19)]
