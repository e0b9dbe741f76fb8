"""One turn of the loop after the other: what is decided is written down, applied, and seen."""

import pytest
from scripted import GOAL, TOPOLOGY, Scripted, controller, rulings, scale, turns

from rheostat.decision import Hold
from rheostat.errors import ConfigError
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling
from rheostat.plan import Plan
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology


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


def test_a_smaller_budget_is_in_the_journal_before_the_plan_follows_it():
    plant, journal = FakePlant(TOPOLOGY, plan=Plan.initial(TOPOLOGY, 5)), Journal()
    loop = controller(plant, Scripted(), journal=journal, plan=Plan.initial(TOPOLOGY, 5))
    loop.change_budget(Budget(total=7))
    assert loop.plan.total == 7
    assert journal.resume(TOPOLOGY).plan == loop.plan
    turns(loop, plant, 1)
    assert plant.applied[-1] == loop.plan


def test_a_goal_for_another_topology_than_the_plants_is_refused():
    other = Topology("other", [Source("in"), Operator("x", inputs="in")])
    with pytest.raises(ConfigError, match="the plant runs topology 'other', the goal is for 't'"):
        controller(FakePlant(other), Scripted())
    with pytest.raises(ConfigError, match="the plan is for operators x"):
        controller(FakePlant(TOPOLOGY), Scripted(), plan=Plan.initial(other))


def test_the_policy_gets_smoothed_measures():
    plant, policy = FakePlant(TOPOLOGY, arrival_rate=lambda t: 4 * t, service_rate=1000), Scripted(smoothing="window:2")
    turns(controller(plant, policy), plant, 4)
    assert [o.measures.operators["split"].arrival_rate for o in policy.shown] == [None, 40.0, 60.0, 100.0]


def test_a_refused_decision_is_kept_with_its_reason():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    turns(controller(plant, Scripted([], scale(50)), journal=journal), plant, 2)
    [kept] = journal.decisions()
    assert (kept.ruling, kept.why) == (Ruling.REFUSED, "50 executors for pool 'count', which may have 12 at most")
    assert kept.decision == scale(50)[0]


def test_holds_are_kept_with_their_reasons():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    turns(controller(plant, Scripted([Hold(pool="count", reason="all is well")]), journal=journal), plant, 1)
    [recorded] = journal.recorded(1)
    assert recorded.holds == (Hold(pool="count", reason="all is well"),)


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
