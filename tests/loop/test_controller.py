import logging
import threading
from collections import deque
from typing import ClassVar

import pytest

from rheostat.clock import WallClock
from rheostat.decision import Effect, Hold, Scale
from rheostat.errors import ConfigError, PlantError
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.period import Outcome, Problem, Ruling
from rheostat.plan import Plan
from rheostat.policies.policy import PolicyOptions
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import OperatorState, Snapshot
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="w", substreams=8)]
)
GOAL = Goal(TOPOLOGY, budget=Budget(total=12))


class Scripted:
    """Decides what it is told, one list of decisions after the other, then nothing; remembers what it was shown."""

    name: ClassVar[str] = "scripted"
    summary: ClassVar[str] = "for tests"
    Options = PolicyOptions

    def __init__(self, *script, smoothing="none"):
        self.options = PolicyOptions(smoothing=smoothing)
        self.script = deque(script)
        self.shown = []

    def decide(self, observation):
        self.shown.append(observation)
        decided = self.script.popleft() if self.script else []
        if isinstance(decided, Exception):
            raise decided
        return decided


def scale(executors, operator="count", **more):
    return [Scale(operator=operator, executors=executors, reason="test", **more)]


def controller(plant, policy, *, journal=None, listeners=(), goal=GOAL, plan=None, **options):
    return Controller(plant, policy, goal, journal, LoopOptions("10s", **options), plan=plan, listeners=listeners)


def turns(loop, plant, number):
    """`number` turns, a period apart, of which the first two only measure (rates need two snapshots)."""
    periods = []
    for _ in range(number):
        periods.append(loop.step())
        plant.clock.wait_until(plant.clock.now() + 10.0)
    return periods


def rulings(periods):
    return [[(v.decision.kind, v.ruling.value) for v in period.verdicts] for period in periods]


def test_an_accepted_decision_is_written_down_then_applied_then_seen():
    plant, policy = FakePlant(TOPOLOGY), Scripted([], scale(3))
    periods = turns(controller(plant, policy), plant, 3)
    assert rulings(periods) == [[], [("scale", "accepted")], []]
    assert [plan.size("count") for plan in plant.applied] == [3]
    assert periods[1].before.size("count") == 1
    assert periods[1].plan.size("count") == periods[2].before.size("count") == 3
    assert [observation.plan.size("count") for observation in policy.shown] == [1, 1, 3]


def test_the_plan_is_in_the_journal_before_the_plant_hears_of_it():
    journal = Journal()
    plant = FakePlant(TOPOLOGY)
    tell = plant.apply

    def apply(plan):
        assert journal.plans()[-1][1] == plan
        assert journal.decisions()[-1].revision == plan.revision
        return tell(plan)

    plant.apply = apply
    turns(controller(plant, Scripted([], scale(3), scale(2)), journal=journal), plant, 3)
    assert len(plant.applied) == 2


def test_what_is_wanted_is_applied_again_until_it_is_real():
    plant = FakePlant(TOPOLOGY, settle_s=25.0)
    periods = turns(controller(plant, Scripted([], scale(3))), plant, 7)
    assert [plan.size("count") for plan in plant.applied] == [3, 3, 3]
    assert [sorted(period.settling) for period in periods] == [[], [], ["count"], ["count"], [], [], []]


def test_the_first_turn_makes_the_starting_plan_real():
    plant = FakePlant(TOPOLOGY)
    start = Plan.initial(TOPOLOGY, {"split": 2, "count": 4})
    turns(controller(plant, Scripted(), plan=start), plant, 2)
    assert plant.applied == [start]


def test_without_a_plan_it_starts_with_the_least_executors_of_the_budget():
    goal = Goal(TOPOLOGY, budget=Budget(least={"count": 3}))
    loop = controller(FakePlant(TOPOLOGY), Scripted(), goal=goal)
    assert (loop.plan.size("split"), loop.plan.size("count")) == (1, 3)


def test_an_operator_is_left_alone_while_a_treatment_of_it_is_under_way():
    plant = FakePlant(TOPOLOGY, settle_s=15.0)
    policy = Scripted([], scale(3), scale(4) + scale(2, "split"), scale(4))
    periods = turns(controller(plant, policy), plant, 4)
    assert rulings(periods)[1:] == [
        [("scale", "accepted")],
        [("scale", "refused"), ("scale", "accepted")],
        [("scale", "accepted")],
    ]
    assert [sorted(observation.settling) for observation in policy.shown] == [[], [], ["count"], ["split"]]


def test_patience_with_a_treatment_that_never_becomes_real_has_an_end():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    plant.obstacles = ("the cluster is full",)
    policy = Scripted([], scale(9), scale(1), [], scale(1))
    periods = turns(controller(plant, policy, journal=journal, patience="30s"), plant, 6)
    assert rulings(periods)[2:] == [[("scale", "refused")], [], [("scale", "accepted")], []]
    assert journal.decisions()[0].note == "not real after 30s"
    assert Problem("apply", "the cluster is full") in periods[3].problems


def test_T_ra_lies_between_any_two_acts():
    plant = FakePlant(TOPOLOGY)
    policy = Scripted([], scale(2), scale(2, "split"), scale(2, "split"), scale(2, "split"))
    periods = turns(controller(plant, policy, t_ra="30s"), plant, 5)
    assert rulings(periods)[1:] == [
        [("scale", "accepted")],
        [("scale", "refused")],
        [("scale", "refused")],
        [("scale", "accepted")],
    ]


def test_a_refused_decision_is_kept_with_its_reason():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    turns(controller(plant, Scripted([], scale(50)), journal=journal), plant, 2)
    [kept] = journal.decisions()
    assert (kept.ruling, kept.why) == (Ruling.REFUSED, "50 executors for 'count': at most 12 are allowed")
    assert kept.decision == scale(50)[0]


def test_while_paused_decisions_are_refused_but_what_is_wanted_is_still_made_real():
    plant = FakePlant(TOPOLOGY, settle_s=25.0)
    loop = controller(plant, Scripted([], scale(3), scale(2, "split"), [], [], scale(2, "split")))
    first = turns(loop, plant, 2)
    loop.pause()
    assert loop.paused
    paused = turns(loop, plant, 3)
    loop.resume()
    resumed = turns(loop, plant, 1)
    assert rulings(first + paused + resumed) == [
        [],
        [("scale", "accepted")],
        [("scale", "refused")],
        [],
        [],
        [("scale", "accepted")],
    ]
    assert paused[0].verdicts[0].why == "paused"
    assert [plan.revision for plan in plant.applied] == [1, 1, 1, 2]


@pytest.mark.parametrize("options", [{"dry_run": True}, {"t_ra": "forever"}])
def test_a_dry_run_recommends_and_touches_nothing(options):
    plant, journal = FakePlant(TOPOLOGY), Journal()
    start = Plan.initial(TOPOLOGY, 2)
    periods = turns(controller(plant, Scripted([], scale(3)), journal=journal, plan=start, **options), plant, 3)
    assert rulings(periods) == [[], [("scale", "dry-run")], []]
    assert plant.applied == []
    assert [kept.ruling for kept in journal.decisions()] == [Ruling.DRY_RUN]


def test_a_stale_snapshot_holds():
    plant = FakePlant(TOPOLOGY)
    policy = Scripted([], [], scale(3))
    loop = controller(plant, policy, max_age="15s")
    turns(loop, plant, 2)
    seen = plant.observe()
    plant.clock.wait_until(plant.clock.now() + 20.0)
    plant.script.append(seen)
    [period] = turns(loop, plant, 1)
    assert period.verdicts[0].why == "the snapshot is 20s old; at most 15s is allowed"
    assert plant.applied == []


def test_a_snapshot_that_is_not_newer_is_not_shown_twice():
    plant, policy = FakePlant(TOPOLOGY), Scripted()
    loop = controller(plant, policy)
    turns(loop, plant, 1)
    plant.script.append(Snapshot(0.0, ()))
    [period] = turns(loop, plant, 1)
    assert len(policy.shown) == 1
    assert period.problems == (Problem("observe", "nothing newer than the snapshot at 0.000 s"),)
    assert turns(loop, plant, 1)[0].problems == ()


def test_an_operator_that_could_not_be_measured_holds():
    plant = FakePlant(TOPOLOGY)
    loop = controller(plant, Scripted([], scale(3) + scale(3, "split")))
    turns(loop, plant, 1)
    known = plant.observe()
    plant.script.append(Snapshot(10.0, (known.operator["split"], OperatorState("count")), known.executors[:1]))
    [period] = turns(loop, plant, 1)
    assert [(v.decision.operator, v.ruling.value) for v in period.verdicts] == [
        ("count", "refused"),
        ("split", "accepted"),
    ]


def test_the_policy_gets_smoothed_measures():
    plant, policy = FakePlant(TOPOLOGY, arrival_rate=lambda t: 4 * t, service_rate=1000), Scripted(smoothing="window:2")
    turns(controller(plant, policy), plant, 4)
    assert [o.measures.operators["split"].arrival_rate for o in policy.shown] == [None, 40.0, 60.0, 100.0]


def test_an_outcome_compares_what_was_predicted_with_what_was_observed():
    plant, journal = FakePlant(TOPOLOGY, arrival_rate=90, settle_s=15.0), Journal()
    predicted = Effect(utilisation=0.45, executors=2)
    loop = controller(plant, Scripted([], scale(2, predicted=predicted)), journal=journal, settle="20s")
    periods = turns(loop, plant, 7)
    assert [period.outcomes for period in periods[:5]] == [()] * 5
    [outcome] = periods[5].outcomes
    assert outcome == Outcome(1, Effect(pytest.approx(0.01), pytest.approx(0.45, abs=0.01), 2))
    [kept] = journal.decisions()
    assert (kept.decision.predicted, kept.observed) == (predicted, outcome.observed)


def test_a_treatment_that_is_replaced_leaves_what_is_known_of_it():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    policy = Scripted([], scale(2), scale(3), [], [], scale(2))
    turns(controller(plant, policy, journal=journal, settle="1m"), plant, 8)
    first, second, third = journal.decisions()
    assert (first.observed, first.note) == (None, "replaced after 10s")
    assert (second.observed.utilisation, second.note) == (pytest.approx(1 / 3), "replaced after 30s")
    assert (third.observed, third.note) == (None, None)


@pytest.mark.parametrize("place", ["observe", "apply", "reached"])
def test_a_plant_that_fails_does_not_end_the_loop_and_is_told_once(place, caplog):
    plant, journal = FakePlant(TOPOLOGY, settle_s=15.0), Journal()
    loop = controller(plant, Scripted([], scale(2)), journal=journal)
    turns(loop, plant, 2)
    plant.failures[place] = PlantError("no route to the cluster")
    plant.settle_s = 1e9  # nothing settles meanwhile
    with caplog.at_level(logging.INFO, "rheostat"):
        failing = turns(loop, plant, 3)
        plant.failures.clear()
        healed = turns(loop, plant, 2)
    problem = Problem(place, "PlantError: no route to the cluster")
    assert problem in failing[-1].problems
    assert problem not in healed[-1].problems
    assert [what for _, what in journal.problems()] == [problem, Problem(place)]
    assert [record.message for record in caplog.records] == [f"{place}: {problem.what}", f"{place}: works again"]


def test_a_changed_problem_is_told_again():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    loop = controller(plant, Scripted(), journal=journal)
    for words in ("one", "one", "another"):
        plant.failures["observe"] = PlantError(words)
        turns(loop, plant, 1)
    assert [what.what for _, what in journal.problems()] == ["PlantError: one", "PlantError: another"]


def test_when_the_plant_does_not_say_what_it_reached_everything_is_left_alone():
    plant = FakePlant(TOPOLOGY)
    plant.failures["reached"] = PlantError("?")
    periods = turns(controller(plant, Scripted([], scale(3))), plant, 2)
    assert rulings(periods)[1] == [("scale", "refused")]
    assert periods[1].settling == {"split", "count"}


def test_a_policy_that_fails_holds_and_is_asked_again():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    policy = Scripted([], ZeroDivisionError("0/0"), scale(3), ["scale it!"])
    periods = turns(controller(plant, policy, journal=journal), plant, 5)
    assert rulings(periods) == [[], [], [("scale", "accepted")], [], []]
    assert [what for _, what in journal.problems()] == [
        Problem("policy", "ZeroDivisionError: 0/0"),
        Problem("policy"),
        Problem("policy", "TypeError: policy 'scripted' decided 'scale it!', which is no Decision"),
        Problem("policy"),
    ]


def test_a_snapshot_that_makes_no_sense_holds():
    plant = FakePlant(TOPOLOGY)
    loop = controller(plant, Scripted())
    turns(loop, plant, 1)
    plant.script.append(Snapshot(10.0, (OperatorState("split", "many"),)))
    [period] = turns(loop, plant, 1)
    assert [problem.place for problem in period.problems] == ["measure"]


def test_what_cannot_be_written_down_is_not_done(monkeypatch):
    plant, journal = FakePlant(TOPOLOGY), Journal()
    loop = controller(plant, Scripted([], scale(3), scale(3)), journal=journal)
    turns(loop, plant, 1)
    write = journal.write
    monkeypatch.setattr(journal, "write", lambda period: (_ for _ in ()).throw(OSError("disk full")))
    [unwritten] = turns(loop, plant, 1)
    assert unwritten.verdicts[0].why == "the journal could not be written"
    assert (unwritten.plan.size("count"), loop.plan.size("count"), plant.applied) == (1, 1, [])
    monkeypatch.setattr(journal, "write", write)
    assert rulings(turns(loop, plant, 1)) == [[("scale", "accepted")]]
    assert Problem("journal", "OSError: disk full") in [what for _, what in journal.problems()]


def test_listeners_hear_of_every_turn_and_cannot_end_the_loop():
    heard = []

    def broken(period):
        raise RuntimeError("terminal gone")

    plant = FakePlant(TOPOLOGY)
    periods = turns(controller(plant, Scripted(), listeners=[broken, heard.append]), plant, 3)
    assert heard == periods
    assert periods[-1].problems == (Problem("listener", "RuntimeError: terminal gone"),)


def test_running_for_a_time_turns_once_a_period_and_at_both_ends():
    plant, heard = FakePlant(TOPOLOGY), []
    controller(plant, Scripted(), listeners=[heard.append]).run(for_="35s")
    assert [period.time_s for period in heard] == [0.0, 10.0, 20.0, 30.0]
    assert plant.clock.now() == 35.0


def test_running_until_a_moment():
    plant, heard = FakePlant(TOPOLOGY), []
    controller(plant, Scripted(), listeners=[heard.append]).run(until_s=20.0)
    assert [period.time_s for period in heard] == [0.0, 10.0, 20.0]


def test_a_turn_that_takes_too_long_leaves_out_the_turns_it_missed():
    plant, heard = FakePlant(TOPOLOGY), []

    def slow_once(period):
        heard.append(period.time_s)
        if len(heard) == 2:
            plant.clock.wait_until(47.0)

    controller(plant, Scripted(), listeners=[slow_once]).run(for_="60s")
    assert heard == [0.0, 10.0, 50.0, 60.0]


def test_a_defect_in_the_loop_itself_is_told_and_survived(monkeypatch, caplog):
    plant = FakePlant(TOPOLOGY)
    loop = controller(plant, Scripted())
    monkeypatch.setattr(loop, "_ask", lambda observation: 1 / 0)
    loop.run(for_="30s")
    assert [record.message for record in caplog.records] == ["loop: ZeroDivisionError: division by zero"]


def test_stop_ends_a_run_in_another_thread_while_it_waits():
    turned = threading.Event()
    plant = FakePlant(TOPOLOGY, clock=WallClock())
    loop = Controller(plant, Scripted(), GOAL, options=LoopOptions("1h"), listeners=[lambda period: turned.set()])
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        assert turned.wait(30)
    finally:
        loop.stop()
        thread.join(30)
    assert not thread.is_alive()


def test_a_controller_stopped_before_it_runs_does_not_run():
    plant, heard = FakePlant(TOPOLOGY), []
    loop = controller(plant, Scripted(), listeners=[heard.append])
    loop.stop()
    loop.run(for_="1h")
    assert heard == []


def test_a_goal_for_another_topology_than_the_plants_is_refused():
    other = Topology("other", [Source("in"), Operator("x", inputs="in")])
    with pytest.raises(ConfigError, match="the plant runs topology 'other', the goal is for 't'"):
        controller(FakePlant(other), Scripted())
    with pytest.raises(ConfigError, match="the plan is for operators x"):
        controller(FakePlant(TOPOLOGY), Scripted(), plan=Plan.initial(other))


def test_threshold_finds_its_level_on_the_fake_plant_and_stays_within_the_budget():
    plant = FakePlant(TOPOLOGY, arrival_rate=lambda t: 500 if t < 600 else 50)
    sizes = []
    loop = Controller(
        plant,
        make_policy("threshold", GOAL),
        GOAL,
        options=LoopOptions("10s"),
        listeners=[lambda period: sizes.append((period.plan.size("split"), period.plan.total))],
    )
    loop.run(for_="20m")
    assert max(total for _, total in sizes) <= 12
    assert max(size for size, _ in sizes) >= 6
    assert sizes[-1][0] == 1


# ---- restarts


def observed(policy):
    return [(o.snapshot.time_s, o.plan.revision) for o in policy.shown]


def test_a_restarted_controller_wants_the_last_plan_again(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(3)), journal=journal), plant, 3)
    empty = FakePlant(TOPOLOGY, clock=plant.clock)
    with Journal(tmp_path / "j") as journal:
        loop = controller(empty, Scripted(), journal=journal, plan=Plan.initial(TOPOLOGY, 5))
        turns(loop, empty, 2)
    assert [plan.size("count") for plan in empty.applied] == [3]


def test_a_crash_between_writing_and_applying_loses_nothing(tmp_path):
    class Crash(BaseException):
        pass

    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        loop = controller(plant, Scripted([], scale(4)), journal=journal)
        turns(loop, plant, 1)

        def die(plan):
            raise Crash

        plant.apply = die
        with pytest.raises(Crash):
            loop.step()
    del plant.apply
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 1)
    assert [plan.size("count") for plan in plant.applied] == [4]


def test_the_policys_memory_is_rebuilt_without_acting(tmp_path):
    plant, first = FakePlant(TOPOLOGY), Scripted([], scale(2), [], [])
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, first, journal=journal), plant, 4)
    applied = len(plant.applied)
    second = Scripted(scale(9), scale(9), scale(9))
    with Journal(tmp_path / "j") as journal:
        loop = controller(plant, second, journal=journal, memory=3)
        assert observed(second) == observed(first)[-3:]
        assert [o.measures for o in second.shown[1:]] == [o.measures for o in first.shown[-2:]]
        assert (loop.plan.size("count"), len(plant.applied)) == (2, applied)
        assert list(journal.runs().values())[-1].remembered == 3


def test_observations_from_before_the_memorys_span_are_not_remembered(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 3)
    plant.clock.wait_until(60.0)
    policy = Scripted()
    with Journal(tmp_path / "j") as journal:
        controller(plant, policy, journal=journal, memory=4)
    assert observed(policy) == [(20.0, 0)]


def test_a_policy_that_fails_on_a_memory_is_shown_the_next(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 3)
    policy = Scripted([], ValueError("no"), [])
    with Journal(tmp_path / "j") as journal:
        controller(plant, policy, journal=journal)
    assert len(policy.shown) == 3


def test_T_ra_is_respected_over_a_restart(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(2)), journal=journal, t_ra="40s"), plant, 2)
    with Journal(tmp_path / "j") as journal:
        policy = Scripted([], [], *[scale(3)] * 4)
        periods = turns(controller(plant, policy, journal=journal, t_ra="40s"), plant, 4)
    assert rulings(periods) == [[("scale", "refused")]] * 3 + [[("scale", "accepted")]]


def test_the_outcome_of_a_treatment_is_observed_over_a_restart(tmp_path):
    plant = FakePlant(TOPOLOGY, settle_s=25.0)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(2)), journal=journal), plant, 2)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 5)
        [decision] = journal.decisions()
    assert decision.observed.executors == 2


def test_a_clock_behind_the_journal_starts_without_a_memory_and_is_not_blocked(tmp_path):
    plant = FakePlant(TOPOLOGY)
    plant.clock.wait_until(1000.0)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(2)), journal=journal), plant, 2)
    earlier, policy = FakePlant(TOPOLOGY), Scripted([], [], scale(3))
    with Journal(tmp_path / "j") as journal:
        periods = turns(controller(earlier, policy, journal=journal, t_ra="20s"), earlier, 3)
    assert len(policy.shown) == 3
    assert periods[0].problems[0].place == "memory"
    assert rulings(periods)[-1] == [("scale", "accepted")]


def test_holds_are_kept_with_their_reasons():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    turns(controller(plant, Scripted([Hold(operator="count", reason="all is well")]), journal=journal), plant, 1)
    [recorded] = journal.recorded(1)
    assert recorded.holds == (Hold(operator="count", reason="all is well"),)
