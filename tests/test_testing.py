import pytest

from rheostat.decision import Fuse, Regroup, Scale
from rheostat.errors import PlantError
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, Snapshot
from rheostat.testing import FakePlant, ManualClock
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("split", inputs="in", selectivity=2),
        Operator("count", inputs="split", key="w", substreams=4),
    ],
)
PLAN = Plan.initial(TOPOLOGY)


def observed(plant, *times_s):
    for time_s in times_s:
        plant.clock.wait_until(time_s)
        snapshot = plant.observe()
    return snapshot


def scaled(plan, operator, executors):
    return plan.after(Scale(pool=operator, executors=executors, reason=""))


def test_records_flow_from_operator_to_operator_and_wait_where_capacity_lacks():
    plant = FakePlant(TOPOLOGY, arrival_rate=40, service_rate={"split": 100, "count": 50})
    seen = observed(plant, 0.0, 10.0)
    split, count = seen.operators["split"], seen.operators["count"]
    assert (split.arrived, split.completed, split.queued) == (400, 400, 0)
    assert (count.arrived, count.completed, count.queued) == (800, 500, 300)
    assert count.latency.mean_s == pytest.approx(300 / 50 + 1 / 50)
    assert seen.streams[0].rows == 400


def test_what_the_measurer_makes_of_it_is_what_it_was_told():
    plant, measurer = FakePlant(TOPOLOGY, arrival_rate=30, service_rate=100), Measurer(TOPOLOGY)
    for time_s in (0.0, 10.0, 20.0):
        measures = measurer.update(observed(plant, time_s), PLAN)
    assert measures.external_rate == 30.0
    assert measures.operators["count"].arrival_rate == 60.0
    assert measures.operators["count"].utilisation == pytest.approx(0.6)
    assert measures.operators["count"].service_rate == pytest.approx(100.0)


def test_counters_of_operators_executors_and_substreams_agree():
    plant = FakePlant(TOPOLOGY, arrival_rate=40, service_rate=100, plan=Plan.initial(TOPOLOGY, 2))
    seen = observed(plant, 0.0, 10.0)
    assert sum(e.arrived for e in seen.executors_of("count")) == seen.operators["count"].arrived
    assert sum(s.completed for s in seen.substreams_of("count")) == seen.operators["count"].completed
    assert [s.executor for s in seen.substreams] == [0, 0, 1, 1]


def test_each_operator_becomes_as_wanted_when_its_time_has_come():
    plant = FakePlant(TOPOLOGY, settle_s=10.0)
    first = scaled(PLAN, "count", 2)
    plant.apply(first)
    assert plant.reached(first) == {"split"}
    plant.clock.wait_until(6.0)
    second = scaled(first, "split", 3)
    plant.apply(second)
    assert [e.phase for e in plant.observe().executors_of("split")] == [ExecutorPhase.ACTIVE] + [
        ExecutorPhase.STARTING
    ] * 2
    plant.clock.wait_until(10.0)
    assert plant.reached(second) == {"count"}
    plant.clock.wait_until(16.0)
    assert plant.reached(second) == {"count", "split"}
    assert plant.reached(PLAN) == frozenset()
    assert plant.applied == [first, second]


def test_a_grouping_is_part_of_what_is_wanted():
    plant = FakePlant(TOPOLOGY, settle_s=5.0)
    plan = PLAN.after(Regroup(operator="split", grouping="osg", reason=""))
    plant.apply(plan)
    assert plant.reached(plan) == {"count"}
    plant.clock.wait_until(5.0)
    assert plant.reached(plan) == {"count", "split"}


def test_asking_what_is_reached_does_not_change_what_is_measured():
    asked, unasked = (FakePlant(TOPOLOGY, arrival_rate=150, service_rate=100, settle_s=10.0) for _ in range(2))
    for plant in (asked, unasked):
        plant.apply(scaled(PLAN, "split", 2))
        plant.clock.wait_until(10.0)
    assert asked.reached(PLAN) == {"count"}
    assert asked.observe() == unasked.observe()


def test_obstacles_are_returned_and_stand_in_the_way():
    plant = FakePlant(TOPOLOGY)
    plant.obstacles = ("full",)
    plan = scaled(PLAN, "split", 2)
    assert plant.apply(plan) == ("full",)
    assert "split" not in plant.reached(plan)
    plant.obstacles = ()
    assert plant.reached(plan) == {"count", "split"}


@pytest.mark.parametrize("place", ["observe", "apply", "reached"])
def test_failures_are_raised_until_they_are_taken_out(place):
    plant = FakePlant(TOPOLOGY)
    plant.failures[place] = PlantError("down")
    call = {"observe": plant.observe, "apply": lambda: plant.apply(PLAN), "reached": lambda: plant.reached(PLAN)}[place]
    for _ in range(2):
        with pytest.raises(PlantError, match="down"):
            call()
    plant.failures.clear()
    call()


def test_a_script_is_shown_first():
    plant = FakePlant(TOPOLOGY, clock=ManualClock(5.0))
    plant.script.append(Snapshot(1.0, ()))
    assert [plant.observe().time_s, plant.observe().time_s] == [1.0, 5.0]


def test_a_rate_may_follow_the_time_and_a_loop_feeds_itself():
    loop = Topology("loop", [Source("in"), Operator("a", inputs=["in", "a"], selectivity=0.5)])
    plant = FakePlant(loop, arrival_rate=lambda time_s: 10 if time_s <= 10 else 0, service_rate=1000)
    seen = observed(plant, 0.0, 10.0, 20.0, 30.0)
    assert seen.operators["a"].arrived == 100 + 50 + 25


def test_it_can_group_stateless_operators_and_place_executors():
    offered = FakePlant(TOPOLOGY).capabilities
    assert (offered.can_place, offered.can_fuse, offered.room) == (True, False, None)
    assert offered.can_group("split", "osg")
    assert not offered.can_group("count", "osg")


def test_operators_that_share_a_pool_share_its_time():
    plan = Plan.initial(TOPOLOGY, 2, shared=[("split", "count")])
    plant = FakePlant(TOPOLOGY, arrival_rate=40, service_rate={"split": 100, "count": 50}, plan=plan)
    seen = observed(plant, 0.0, 10.0)
    split, count = seen.operators["split"], seen.operators["count"]
    assert (split.completed, count.completed) == (400, 800)
    assert [(state.pool, state.id, state.completed) for state in seen.executors] == [
        ("split+count", 0, 600),
        ("split+count", 1, 600),
    ]
    assert sum(state.busy_s for state in seen.executors) == pytest.approx(split.busy_s + count.busy_s)
    alone = FakePlant(
        TOPOLOGY,
        arrival_rate=40,
        service_rate={"split": 100, "count": 50},
        plan=Plan.initial(TOPOLOGY, 1, shared=[("split", "count")]),
    )
    assert observed(alone, 0.0, 10.0).operators["count"].completed == 300, "4 of 10 s go to the other operator"


def test_a_plan_that_fuses_operators_cannot_be_met():
    plant = FakePlant(TOPOLOGY)
    fused = PLAN.after(Fuse(operators=("split", "count"), reason=""))
    assert plant.apply(fused) == (
        "operators of a fake plant keep the pools they have: they are neither fused nor split",
    )
    assert plant.reached(fused) == frozenset()
    assert (plant.apply(PLAN), plant.reached(PLAN)) == ((), {"split", "count"})
