"""Ra-Stream as a policy: when it plans, what it moves, and when it leaves things alone."""

from collections import Counter

import msgspec
import numpy as np
import pytest
from placement_observations import CHAIN, Cluster, run

from rheostat.capabilities import Capabilities
from rheostat.decision import Hold, Place, Scale
from rheostat.errors import ConfigError
from rheostat.placement import (
    Edge,
    Placement,
    PlacementNode,
    PlacementProblem,
    Resources,
    Task,
    TaskGraph,
    UtilisationLimits,
)
from rheostat.policies.rastream.benefit import judge
from rheostat.policies.rastream.executor_load import ResourcePrices
from rheostat.policies.rastream.measured_placement import measure_placement
from rheostat.policies.rastream.monitor import ExecutorKey, FrameMonitor
from rheostat.policies.rastream.options import RaStreamOptions
from rheostat.policies.rastream.replanning import repaired, with_fewest_moves, with_reserve
from rheostat.policies.registry import make_policy
from rheostat.sla import Goal


def ra_stream(**options):
    return make_policy("ra-stream", Goal(CHAIN), {"frame": "10s", **options})


def test_the_first_plan_comes_when_the_frame_is_full_and_frees_nodes():
    cluster = Cluster(rate=100.0)
    acts, _ = run(ra_stream(), cluster, 30)
    assert [time_s for time_s, _ in acts] == [11.0]
    assert cluster.nodes_used() == 2
    assert "2 nodes instead of 4" in acts[0][1][0].reason


def test_before_that_it_holds_and_says_why():
    _, decisions = run(ra_stream(), Cluster(), 5)
    assert all(isinstance(decision, Hold) for decision in decisions)
    assert "the first frame of measurements is not complete: keep the placement" in decisions[0].reason


def test_it_spreads_out_when_the_rate_rises_and_comes_back_when_it_falls():
    cluster, policy = Cluster(rate=80.0), ra_stream(horizon="10m")
    run(policy, cluster, 30)
    used = [cluster.nodes_used()]
    for rate in (220.0, 80.0):
        cluster.rate = rate
        run(policy, cluster, 40)
        used.append(cluster.nodes_used())
    assert used == [1, 4, 1]


@pytest.mark.parametrize("executors_count", [True, False])
def test_a_full_node_does_not_hide_what_is_asked_of_it(executors_count):
    cluster = Cluster(rate=80.0, work_s=0.0005, io_s=0.004, executors_count=executors_count)
    policy = ra_stream(horizon="10m")
    used = []
    for rate in (80.0, 170.0, 320.0, 80.0):
        cluster.rate = rate
        run(policy, cluster, 40)
        used.append(cluster.nodes_used())
    assert used == [1, 2, 4, 1]


def test_when_all_nodes_together_are_not_enough_none_is_fuller_than_it_must_be():
    cluster, policy = Cluster(rate=80.0, executors=4), ra_stream(horizon="10m")
    run(policy, cluster, 30)
    assert cluster.nodes_used() == 2
    cluster.rate = 460.0
    acts, _ = run(policy, cluster, 60)
    assert len(acts) == 1
    assert sorted(Counter(node for node, _ in cluster.spots.values()).values()) == [2, 2, 2, 2]


def test_a_rate_that_changes_little_changes_nothing():
    cluster, policy = Cluster(rate=100.0), ra_stream()
    run(policy, cluster, 30)
    cluster.rate = 110.0
    acts, decisions = run(policy, cluster, 40)
    assert acts == []
    assert "the rate has not changed" in decisions[0].reason


def test_after_a_change_of_the_rate_it_waits_for_a_whole_frame_of_the_new_one():
    cluster, policy = Cluster(rate=80.0), ra_stream()
    run(policy, cluster, 30)
    cluster.rate = 220.0
    acts, _ = run(policy, cluster, 40)
    assert len(acts) == 1
    assert 40.0 <= acts[0][0] <= 46.0


class RecordsFollowMoves(Cluster):
    """An executor that was moved last gets most of its operator's records: no placement is right for long."""

    moved = frozenset()

    def obey(self, decisions):
        places = [decision for decision in decisions if isinstance(decision, Place)]
        if places:
            self.moved = frozenset((place.pool, number) for place in places for number in place.locations)
        super().obey(decisions)

    def _executor(self, pool, number):
        numbers = self.plan.pools[pool].executors
        weights = {each: 4.0 if (pool, each) in self.moved else 1.0 for each in numbers}
        even, share = super()._executor(pool, number), weights[number] / sum(weights.values())
        self.done[pool, number] = self.done.get((pool, number), 0.0) + self.rate * share
        records = int(self.done[pool, number])
        return msgspec.structs.replace(even, arrived=records, completed=records, busy_s=records * self.work_s)

    def __init__(self, **more):
        super().__init__(**more)
        self.done = {}


def test_moves_that_do_not_help_become_rarer():
    acts, decisions = run(ra_stream(), RecordsFollowMoves(rate=220.0, executors=4), 600)
    gaps = np.diff([time_s for time_s, _ in acts])
    assert 3 <= len(acts) <= 7
    assert (gaps[1:] >= 1.8 * gaps[:-1]).all()
    assert "as after the last placement for this load: wait " in decisions[0].reason


def test_equal_observations_give_equal_decisions():
    one, other = (run(ra_stream(), Cluster(rate=150.0), 30)[0] for _ in range(2))
    assert one == other


def test_without_nodes_it_says_that_nothing_can_be_placed():
    _, decisions = run(ra_stream(), Cluster(known_nodes=False), 20)
    assert "the plant reports no nodes" in decisions[0].reason


def test_while_a_change_is_under_way_it_waits_and_measures_anew():
    cluster, policy = Cluster(), ra_stream()
    run(policy, cluster, 9)
    cluster.settling = frozenset({"a"})
    run(policy, cluster, 5)
    cluster.settling = frozenset()
    acts, _ = run(policy, cluster, 20)
    assert acts[0][0] == pytest.approx(25.0)


def test_how_many_executors_there_are_is_the_other_policys_business():
    cluster = Cluster(rate=100.0)
    policy = ra_stream(scaling="static", scaling_options={"executors": {"a": 3, "b": 2}})
    decisions = policy.decide(cluster.observe())
    assert [type(decision) for decision in decisions] == [Scale, Hold]
    cluster.obey(decisions)
    acts, _ = run(policy, cluster, 30)
    assert len(acts) == 1
    assert cluster.plan.size("a") == 3


def test_executors_that_come_or_go_are_a_reason_to_plan():
    cluster, policy = Cluster(rate=80.0), ra_stream(horizon="10m")
    run(policy, cluster, 30)
    cluster.plan = cluster.plan.after(Scale(pool="a", executors=3, reason="test"))
    idle = next(node for node in cluster.nodes if node not in {spot for spot, _ in cluster.spots.values()})
    cluster.spots["a", 2] = (idle, 99)
    acts, _ = run(policy, cluster, 30)
    assert "executors were added or removed: move executors, " in acts[0][1][0].reason
    assert cluster.nodes_used() == 1


def test_measures_are_smoothed_as_the_scaling_policy_asks():
    policy = make_policy("ra-stream", Goal(CHAIN), {"scaling": "drs", "scaling_options": {"k_max": 8}})
    assert policy.options.smoothing == "window:3"


def test_it_does_not_ask_itself_how_many_executors_there_should_be():
    with pytest.raises(ConfigError, match="is this policy itself"):
        ra_stream(scaling="ra-stream")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"t_under": 0.9}, "under"),
        ({"alpha": 0.9, "beta": 0.3}, "add up"),
        ({"node_cost": 0}, "the distance"),
    ],
)
def test_wrong_options_are_refused(option, message):
    with pytest.raises(ConfigError, match=message):
        ra_stream(**option)


@pytest.mark.parametrize("algorithm", ["even", "sp-ant", "metis", "annealing"])
def test_other_algorithms_can_take_its_place(algorithm):
    cluster = Cluster(rate=100.0)
    run(ra_stream(algorithm=algorithm), cluster, 30)
    assert all(node in cluster.nodes for node, _ in cluster.spots.values())


def picture_of(cluster, **options):
    monitor, told = FrameMonitor(10.0), RaStreamOptions(**options)
    for _ in range(12):
        seen = cluster.observe()
        monitor.update(seen)
    return measure_placement(CHAIN, seen, monitor, ResourcePrices(), told)


def test_the_picture_has_measured_rates_and_demands():
    measured = picture_of(Cluster(rate=100.0, work_s=0.004))
    assert measured.members == (ExecutorKey("a", 0), ExecutorKey("a", 1), ExecutorKey("b", 0), ExecutorKey("b", 1))
    assert measured.problem.graph.demands[:, 0] == pytest.approx(np.full(4, 0.2), rel=0.02)
    assert measured.problem.graph.rates == pytest.approx(np.full(4, 25.0), rel=0.02)
    assert measured.now.nodes_used == 4


def test_resources_that_are_not_measured_leave_their_weight_to_the_others():
    assert picture_of(Cluster()).problem.limits.weights.cpu == pytest.approx(1.0)
    limits = picture_of(Cluster(memory=0.3, io=0.1)).problem.limits
    assert (limits.weights.cpu, limits.weights.memory) == (0.5, 0.35)
    limits = picture_of(Cluster(memory=0.3)).problem.limits
    assert limits.weights.cpu == pytest.approx(0.5 / 0.85)


def test_memory_is_shared_out_by_records():
    demands = picture_of(Cluster(memory=0.3, executors=1, nodes=1)).problem.graph.demands
    assert demands[:, 1] == pytest.approx([0.15, 0.15])


def test_processes_and_slots_limit_a_node():
    node = picture_of(Cluster(), processes=2, process_executors=2).problem.nodes[0]
    assert (node.processes, node.process_tasks, node.slots) == (2, 2, 4)
    assert picture_of(Cluster()).problem.nodes[0].slots == 6


def placement(scheme, processes=None, *, needs=(0.3, 0.3, 0.3), rates=((0, 1, 10.0), (1, 2, 1.0)), nodes=3):
    names = [f"t{number}" for number in range(len(needs))]
    graph = TaskGraph.of(
        [Task(name, Resources(need, need, need)) for name, need in zip(names, needs, strict=True)],
        [Edge(names[one], names[other], rate) for one, other, rate in rates],
    )
    problem = PlacementProblem(
        graph, tuple(PlacementNode(f"n{number}") for number in range(nodes)), UtilisationLimits()
    )
    return Placement(problem, np.array(scheme), np.array(processes or [0] * len(needs)))


@pytest.mark.parametrize(
    ("now", "then", "go", "why"),
    [
        ([0, 0, 1], [0, 0, 1], False, "no executor would move"),
        ([0, 0, 0], [0, 0, 1], True, "1 overloaded node fewer"),
        ([0, 1, 2], [0, 0, 2], True, "2 nodes instead of 3"),
        ([0, 0, 1], [0, 1, 2], False, "1 more nodes would relieve no overloaded node"),
        ([0, 1, 1], [0, 0, 1], True, "82% less communication|90% less communication"),
        ([0, 0, 1], [1, 1, 0], False, "is within the margin"),
    ],
)
def test_a_plan_is_judged_by_relief_then_nodes_then_communication(now, then, go, why):
    found = judge(placement(now), placement(then), RaStreamOptions(pause="10ms"))
    assert found.go is go
    assert any(text in found.why for text in why.split("|"))


def test_a_node_that_is_too_full_by_a_trifle_is_left_alone():
    now, then = (placement(scheme, needs=(0.3, 0.3, 0.18)) for scheme in ([0, 0, 0], [0, 0, 1]))
    assert not judge(now, then, RaStreamOptions()).go
    assert judge(now, then, RaStreamOptions(margin=0.01)).go


def test_less_beyond_the_limits_is_relief_although_as_many_nodes_are_too_full():
    now, then = (placement(scheme, needs=(0.5,) * 6, rates=()) for scheme in ([0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]))
    assert judge(now, then, RaStreamOptions()) == (True, "50% less load on overloaded nodes")
    assert judge(then, now, RaStreamOptions()) == (False, "it would load overloaded nodes more")


def test_moves_that_cost_more_than_they_bring_are_not_made():
    short = RaStreamOptions(horizon="1s", pause="4s")
    assert not judge(placement([0, 1, 2]), placement([0, 0, 2]), short).go
    assert "would not outweigh moving" in judge(placement([0, 1, 1]), placement([0, 0, 1]), short).why


def test_what_need_not_move_stays():
    now = placement([0, 0, 1])
    then = placement([1, 1, 0])
    assert with_fewest_moves(now, then).nodes_used == 2
    spared = with_fewest_moves(
        placement([0, 1, 1, 0], needs=(0.2,) * 4, rates=()), placement([0, 1, 0, 1], needs=(0.2,) * 4, rates=())
    )
    assert spared.scheme.tolist() == [0, 1, 1, 0]


COSTS = RaStreamOptions().costs


def test_a_full_node_is_mended_by_the_move_that_costs_least():
    now = placement([0, 0, 0, 1], needs=(0.3,) * 4, rates=((0, 1, 10.0), (2, 3, 1.0)))
    fresh = placement([1, 1, 2, 2], needs=(0.3,) * 4, rates=((0, 1, 10.0), (2, 3, 1.0)))
    assert repaired(now, fresh, COSTS, 0.1).scheme.tolist() == [0, 0, 1, 1]


def test_a_fresh_plan_is_preferred_that_needs_another_number_of_nodes_or_much_less_communication():
    now = placement([0, 1, 1])
    assert repaired(now, placement([0, 0, 1]), COSTS, 0.1) is None
    assert repaired(now, placement([0, 0, 1]), COSTS, 0.95).scheme.tolist() == [0, 1, 1]
    assert repaired(now, placement([0, 1, 2]), COSTS, 1.0) is None


def test_nothing_is_mended_where_there_is_no_room():
    now = placement([0, 0, 0, 1], needs=(0.6,) * 4, nodes=2)
    assert repaired(now, placement([0, 0, 1, 1], needs=(0.6,) * 4, nodes=2), COSTS, 0.1) is None


def test_a_plan_has_some_reserve_but_no_task_outgrows_the_largest_node():
    problem = placement([0, 1, 2], needs=(0.4, 0.6, 1.0)).problem
    assert with_reserve(problem, 0.1).graph.demands[:, 0] == pytest.approx([0.44, 0.66, 1.0])


def test_decisions_name_only_executors_that_move():
    cluster = Cluster(rate=100.0)
    acts, _ = run(ra_stream(), cluster, 30)
    for decision in acts[0][1]:
        assert isinstance(decision, Place)
        assert 0 < len(decision.locations) <= 2


def test_nothing_is_placed_or_fused_on_a_plant_that_cannot():
    policy, cluster = make_policy("ra-stream", Goal(CHAIN), {"frame": "5s", "fuse": True}), Cluster(nodes=1)
    cluster.capabilities = Capabilities()
    decided = [decision for _ in range(12) for decision in policy.decide(cluster.observe())]
    assert {decision.kind for decision in decided} == {"hold"}
    assert decided[-1].reason.endswith("the plant cannot place executors")
