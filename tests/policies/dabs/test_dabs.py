"""DABS-Storm as a policy: when it looks, when it acts, what it says, and on the simulator."""

import msgspec
import pytest
from dabs_observations import TOPOLOGY, snapshots

from rheostat.capabilities import Capabilities
from rheostat.decision import Hold, Regroup, Scale
from rheostat.errors import ConfigError, TopologyError
from rheostat.experiments.reproduce.sweep import scenario_of
from rheostat.experiments.simulate import simulate
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import ExecutorPhase, ExecutorState, NodeState
from rheostat.topology import Operator, Topology

MEASURES = Measures(10.0, {"first": OperatorMeasures(), "second": OperatorMeasures()})


def policy(budget=None, topology=TOPOLOGY, **options):
    return make_policy("dabs", Goal(topology, (), budget or Budget()), {"alpha": 0.3, **options})


def shown(it, seen, plan=None, settling=(), capabilities=None):
    """What it decides about the last of the snapshots `seen`, by operator."""
    plan = plan or Plan.initial(TOPOLOGY, 2)
    for snapshot in seen:
        decided = it.decide(
            Observation(snapshot, MEASURES, plan, frozenset(settling), it.goal.budget, capabilities or Capabilities())
        )
    return {decision.subject: decision for decision in decided}


def later(seen, by_s):
    return [msgspec.structs.replace(snapshot, time_s=snapshot.time_s + by_s) for snapshot in seen]


HEAVY = {"arrivals": [100] * 6, "busy_s": 18.0}
"""The two executors of `first` work 18 of 20 seconds: 0.18 s for each of 100 records in 10 s."""


def test_it_monitors_a_whole_iteration_before_it_decides():
    decided = shown(policy(), snapshots(**HEAVY)[:6])
    assert decided["first"] == Hold(pool="first", reason="no complete iteration yet: hold for 10s")
    assert isinstance(shown(policy(), snapshots(**HEAVY))["first"], Scale)


def test_it_scales_out_to_the_degree_that_reservations_allow_and_says_why():
    """Work for 1.8 executors; each is in use to 90 % and counts on 0.3 + 0.1 of a core: 4.5 > 2, so 1.8 / 0.3 = 6."""
    decided = shown(policy(), snapshots(**HEAVY))["first"]
    assert decided.executors == 6
    assert (
        decided.reason
        == "600 records expected, work for 4.50 executors, outside [1.6, 2]: scale out 2 -> 6, expected utilisation 30%"
    )
    assert decided.predicted.utilisation == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("told", "executors"),
    [
        ({"reservation": 0.5}, 12),
        ({"reservation": {"first": 0.5}}, 12),
        ({"reservation": {"second": 0.5}}, 6),
        ({"alpha": 0.6}, 3),
        ({"weight": 0.6}, 6),
    ],
)
def test_reservations_and_alpha_say_how_many_a_scale_out_takes(told, executors):
    """Work for 1.8 executors with a whole core, over reservation × α (eq. 13, which prints λ for α)."""
    assert shown(policy(**told), snapshots(**HEAVY))["first"].executors == executors


def test_the_weight_says_what_an_executor_can_count_on():
    """Both executors use 90 % of a core of their own: 0.6 of what is reserved, and the idle tenth (eq. 7)."""

    def busy(time_s):
        return {"executors": tuple(ExecutorState("first", n, ExecutorPhase.ACTIVE, cpu_s=0.9 * time_s) for n in (0, 1))}

    decided = shown(policy(weight=0.6), snapshots(**HEAVY, extra=busy))["first"]
    assert decided.reason.startswith(f"600 records expected, work for {1.8 / 0.7:.2f} executors")


@pytest.mark.parametrize("samples", [3, 12])
def test_an_iteration_may_be_shorter_or_longer(samples):
    decided = shown(policy(iteration=f"{10 * samples}s"), snapshots([100] * samples, busy_s=18.0))["first"]
    assert decided.executors == 6


@pytest.mark.parametrize(("told", "executors"), [({}, 12), ({"reservation": {"second": 0.5}}, 24)])
def test_operators_that_share_a_pool_need_what_both_need(told, executors):
    """Work for 1.8 executors each; of two reservations the smaller one is sure."""
    shared = Plan.initial(TOPOLOGY, 2, shared=[("first", "second")])
    decided = shown(policy(**told), snapshots(**HEAVY, rows=60, completed=600), shared)
    assert decided.keys() == {"first+second"}
    assert decided["first+second"].executors == executors


def test_it_scales_in_only_as_far_as_reservations_allow():
    """Ten executors for work of 0.5: at 30 % of a core each, two."""
    idle = snapshots([100] * 6, busy_s=5.0)
    plan = Plan.initial(TOPOLOGY, 10)
    assert shown(policy(), idle, plan)["first"].executors == 2
    assert isinstance(shown(policy(beta=0.01), idle, plan)["first"], Hold)


def test_it_holds_where_the_degree_is_right():
    calm = snapshots([100] * 6, busy_s=8.0)
    decided = shown(policy(), calm)["first"]
    assert isinstance(decided, Hold)
    assert (
        decided.reason
        == "600 records expected, work for 0.89 executors, below 1.6, but reservations need 3 executors: hold"
    )


def test_monitoring_is_off_while_a_change_settles_and_begins_anew():
    it = policy()
    seen = snapshots(**HEAVY)
    shown(it, seen[:-1])
    assert shown(it, seen[-1:], settling=["second"])["first"].reason == "settling after the last action: hold"
    assert isinstance(shown(it, later(seen, 100.0)[:-1])["first"], Hold)
    assert isinstance(shown(it, later(seen, 100.0)[-1:])["first"], Scale)


def test_what_was_seen_before_a_change_that_leaves_sizes_alone_does_not_count():
    it = policy()
    seen = snapshots(**HEAVY)
    shown(it, seen[:-1])
    shown(it, seen[-1:], settling=["first"])
    assert shown(it, later(seen[-1:], 10.0))["first"].reason == "no complete iteration yet: hold for 1m"


def test_samples_are_counted_from_the_end_of_a_change():
    it = policy()
    [first, *_] = snapshots(**HEAVY)
    shown(it, [first])
    shown(it, later([first], 50.0), settling=["first"])
    decided = shown(it, [*later([first], 103.0), *later([first], 110.0)])["first"]
    assert decided.reason == "no complete iteration yet: hold for 1m"


def test_what_waits_is_work_too():
    decided = shown(policy(), snapshots(**HEAVY, pending={"first": 600}))["first"]
    assert decided.reason == (
        "1,200 records expected (600 of them backlog), work for 9.00 executors, outside [1.6, 2]: "
        "scale out 2 -> 12, expected utilisation 30%"
    )


def test_pools_share_the_budget_by_need():
    decided = shown(policy(Budget(total=6)), snapshots(**HEAVY))
    assert (decided["first"].executors, decided["second"].executors) == (3, 3)


def test_samples_of_another_allocation_are_not_mixed_in():
    it = policy()
    seen = snapshots(**HEAVY)
    shown(it, seen[:-1])
    decided = shown(it, seen[-1:], Plan.initial(TOPOLOGY, 3))["first"]
    assert decided.reason == "no complete iteration yet: hold for 1m"


def test_between_two_samples_it_waits():
    it = policy()
    seen = snapshots(**HEAVY)
    shown(it, seen)
    assert shown(it, later(seen[-1:], 3.0))["first"].reason == "between two samples: hold"
    assert isinstance(shown(it, later(seen[-1:], 10.0))["first"], Scale)


def test_samples_that_come_a_little_early_or_late_are_samples_as_well():
    """A loop's turns are never exactly a period apart."""
    off_s = (0.0, 0.02, -0.01, 0.03, -0.02, 0.01, -0.03)
    seen = [later([snapshot], by_s)[0] for snapshot, by_s in zip(snapshots(**HEAVY), off_s, strict=True)]
    assert isinstance(shown(policy(), seen)["first"], Scale)


def test_bounds_and_budget_limit_what_it_asks_for():
    assert shown(policy(Budget(most={"first": 4})), snapshots(**HEAVY))["first"].executors == 4
    assert shown(policy(Budget(total=5)), snapshots(**HEAVY))["first"].executors == 3
    held = shown(policy(Budget(total=4)), snapshots(**HEAVY))["first"]
    assert held.reason.endswith("which needs 6 executors, but bounds and budget allow 2: hold")


def test_an_unmeasured_counter_holds_everything_with_its_name():
    decided = shown(policy(), snapshots([100] * 6, unknown=True))
    assert {decision.reason for decision in decided.values()} == {"arrivals at 'first' not measured: hold"}


def test_an_operator_that_never_completed_anything_is_left_alone():
    decided = shown(policy(), snapshots([100] * 6, completed=0))["first"]
    assert decided.reason == "'first' has completed nothing yet, its processing time is not known: hold"


def test_the_last_known_processing_time_serves_while_nothing_completes():
    it = policy()
    shown(it, snapshots(**HEAVY))
    stuck = later(snapshots([100] * 6, completed=0, busy_s=18.0), 1000.0)
    assert shown(it, stuck, settling=["first"])["first"].reason == "settling after the last action: hold"
    assert isinstance(shown(it, later(stuck, 1000.0))["first"], Scale)


def full(used, **what):
    """One executor of `first` uses so much of a core, on a node of which something else is full."""

    def extra(time_s):
        members = (ExecutorState("first", 0, ExecutorPhase.ACTIVE, busy_s=used * time_s, node="x"),)
        return {"executors": members, "nodes": (NodeState("x", cores=1.0, **what), NodeState("y", memory=1.0))}

    return extra


@pytest.mark.parametrize(("what", "named"), [({"memory": 0.97}, "memory"), ({"io": 0.97, "memory": 0.5}, "I/O")])
def test_a_bottleneck_that_is_no_processor_is_named_and_not_scaled(what, named):
    decided = shown(policy(), snapshots(**HEAVY, extra=full(0.9, **what)))["first"]
    assert decided.reason.endswith(f"but {named} of node 'x' is at 97%: hold, more executors would not help")


def test_where_something_else_is_full_fewer_may_still_do():
    idle = snapshots([100] * 6, busy_s=5.0, extra=full(0.1, memory=0.97))
    assert shown(policy(), idle, Plan.initial(TOPOLOGY, 10))["first"].executors == 2


def grouped(seen, **grouping):
    operators = tuple(
        msgspec.structs.replace(each, grouping=now)
        for each in seen.operator_states
        for now in [grouping.get(each.name)]
    )
    return msgspec.structs.replace(seen, operator_states=operators)


def test_it_asks_for_osg_where_records_may_go_anywhere_and_only_once():
    topology = Topology("t", [*TOPOLOGY.parts, Operator("keyed", inputs="second", key="k")])
    it = policy(topology=topology)
    seen = grouped(snapshots(**HEAVY)[0], first="round-robin", second="osg", keyed=None)
    plan = Plan.initial(topology, 2)
    anywhere = Capabilities(groupings=dict.fromkeys(("first", "second"), ("round-robin", "osg")))
    decided = shown(it, [seen], plan, capabilities=anywhere)
    assert decided == {
        "first": Regroup(
            operator="first", grouping="osg", reason="records are spread by round-robin, osg is configured: regroup"
        ),
    }
    for other, now in ((it, plan.after(decided["first"])), (policy(grouping="keep"), plan)):
        asked = shown(other, [seen], now, capabilities=anywhere)
        assert not any(isinstance(decision, Regroup) for decision in asked.values())


def test_it_does_not_ask_for_a_grouping_that_a_plant_does_not_report():
    assert not any(isinstance(d, Regroup) for d in shown(policy(), snapshots(**HEAVY)[:1]).values())


def test_wrong_options_are_refused_by_name():
    with pytest.raises(TopologyError, match="no operator 'frist'; did you mean 'first'"):
        policy(reservation={"frist": 0.5})
    with pytest.raises(ConfigError, match="option 'beta' cannot be 0"):
        policy(beta=0)


def rising(**cluster):
    return scenario_of(
        name="rising",
        duration="15m",
        period="10s",
        source=[{"name": "in", "load": {"shape": "ramp", "from_rate": 20, "to_rate": 200, "duration": "10m"}}],
        operator=[{"name": "work", "inputs": ["in"], "service": {"mean": "20ms"}, "executors": 1}],
        cluster={"timeout": "30s", **cluster},
        budget={"total": 36},
    )


def test_on_a_rising_load_it_adds_executors_before_they_are_needed():
    result = simulate(rising(), "dabs", seed=1)
    assert result.decisions["scale"] >= 2
    assert result.decisions["regroup"] == 1
    assert result.late == 0
    assert result.queued < 50


def test_a_restart_for_each_change_costs_latency():
    smooth, restarted = (simulate(rising(**told), "dabs", seed=1) for told in ({}, {"restart": "20s"}))
    assert restarted.mean_latency_s > 2 * smooth.mean_latency_s
