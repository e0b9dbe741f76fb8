import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision import Fuse, Hold, Location, Move, Place, Regroup, Scale, Split, Transfer
from rheostat.errors import ConfigError, TopologyError
from rheostat.plan import Plan, PoolPlan, StaleDecisionError
from rheostat.substream_assignment import spread_evenly
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("split", inputs="in"),
        Operator("count", inputs="split", key="word", substreams=12),
        Operator("rank", inputs="count", key="word", substreams=5),
    ],
)
START = Plan.initial(TOPOLOGY, {"split": 1, "count": 3, "rank": 2})
SHARED = Plan(
    0,
    {"both": PoolPlan.of(2), "split": PoolPlan.of(1)},
    {"split": "split", "count": "both", "rank": "both"},
    {"count": (0, 1) * 6, "rank": (0, 1, 0, 1, 0)},
)


def scale(executors, pool="count", **more):
    return Scale(pool=pool, reason="test", executors=executors, **more)


def move(substreams, source, target, operator="count"):
    return Move(operator=operator, reason="test", transfers=(Transfer(tuple(substreams), source, target),))


def test_an_initial_plan_spreads_substreams_evenly_in_contiguous_order():
    assert START.assignment["count"] == (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2)
    assert START.assignment["rank"] == (0, 0, 0, 1, 1)
    assert (START.total, START.size("count"), START.revision) == (6, 3, 0)


def test_operators_that_share_a_pool_have_the_largest_number_that_one_of_them_is_given():
    plan = Plan.initial(TOPOLOGY, {"split": 2, "count": 3}, standby={"split": 1}, shared=[("split", "count")])
    assert plan.pools == {"split+count": PoolPlan.of(3, 1), "rank": PoolPlan.of(1)}
    assert plan.sharing("split+count") == ["split", "count"]
    assert plan.assignment["count"] == START.assignment["count"]


def test_a_decision_may_change_how_many_stand_by_and_otherwise_keeps_them():
    plan = Plan.initial(TOPOLOGY, standby={"split": 2})
    assert plan.after(Scale(pool="split", reason="", executors=3)).pool("split").standby == 2
    assert plan.after(Scale(pool="split", reason="", executors=3, standby=0)).pool("split").standby == 0
    with pytest.raises(StaleDecisionError, match="-1 standbys for 'split': it must be 0 or more"):
        plan.after(Scale(pool="split", reason="", executors=3, standby=-1))


def test_an_initial_plan_without_executors_is_refused():
    with pytest.raises(ConfigError, match="operator 'count': 0 executors"):
        Plan.initial(TOPOLOGY, {"count": 0})
    with pytest.raises(ConfigError, match="operator 'split': -1 executors"):
        Plan.initial(TOPOLOGY, -1)


def test_executors_for_an_unknown_operator_are_refused():
    with pytest.raises(TopologyError, match="did you mean 'count'"):
        Plan.initial(TOPOLOGY, {"counts": 2})


def test_scaling_out_numbers_new_executors_onwards_and_moves_just_enough_to_them():
    plan = START.after(scale(4))
    assert plan.pool("count").executors == (0, 1, 2, 3)
    assert sorted(plan.assignment["count"].count(e) for e in range(4)) == [3, 3, 3, 3]
    moved = [old != new for old, new in zip(START.assignment["count"], plan.assignment["count"], strict=True)]
    assert sum(moved) == 3
    assert plan.revision == 1


def test_scaling_in_lets_the_newest_go_and_numbers_are_never_used_again():
    plan = START.after(scale(1)).after(scale(2))
    assert plan.pool("count").executors == (0, 3)


def test_scaling_in_lets_the_named_one_go():
    plan = START.after(scale(2, leaving=(0,)))
    assert plan.pool("count").executors == (1, 2)
    assert sorted(plan.assignment["count"].count(e) for e in (1, 2)) == [6, 6]


def test_an_executor_can_be_replaced():
    plan = START.after(scale(3, leaving=(1, 1)))
    assert plan.pool("count").executors == (0, 2, 3)


def test_a_scale_with_moves_moves_just_these_substreams_and_the_orphans():
    out = START.after(scale(4, transfers=(Transfer((0, 1), 0, 3),)))
    assert out.assignment["count"] == (3, 3, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2)
    into_one = START.after(scale(2, leaving=(2,), transfers=(Transfer((8, 9, 10, 11), 2, 0),)))
    assert into_one.assignment["count"] == (0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0)


def test_loads_weigh_the_substreams():
    heavy = [9.0, 1.0, 1.0, 1.0] + [0.0] * 8
    plan = Plan.initial(TOPOLOGY, 1).after(scale(2), {"count": heavy})
    heavy_one = plan.assignment["count"][0]
    assert [plan.assignment["count"][index] != heavy_one for index in (1, 2, 3)] == [True] * 3


def test_a_pool_that_two_operators_share_scales_for_both():
    plan = SHARED.after(scale(4, "both"))
    assert plan.size("rank") == plan.size("count") == 4
    assert sorted(plan.assignment["rank"].count(e) for e in range(4)) == [1, 1, 1, 2]


def test_a_move_changes_only_the_named_substreams():
    assert START.after(move([0, 2], 0, 2)).assignment["count"] == (2, 0, 2, 0, 1, 1, 1, 1, 2, 2, 2, 2)


def test_placing_and_regrouping_change_nothing_else():
    placed = START.after(Place(pool="count", reason="", locations={1: Location("node-a")}))
    assert placed.pool("count").locations == {1: Location("node-a")}
    assert placed.after(scale(1)).pool("count").locations == {}
    regrouped = START.after(Regroup(operator="split", reason="", grouping="round_robin"))
    assert regrouped.grouping == {"split": "round_robin"}


CHAIN = Topology(
    "chain",
    [
        Source("in"),
        Operator("read", inputs="in"),
        Operator("split", inputs="read"),
        Operator("count", inputs="split", key="word", substreams=4),
    ],
)
APART = Plan.initial(CHAIN, {"read": 1, "split": 2, "count": 3})


def fuse(*operators):
    return Fuse(operators=operators, reason="")


def test_fused_operators_are_in_the_pool_of_the_last_one_and_other_pools_go():
    plan = APART.after(fuse("split", "count"))
    assert plan.pools == {"read": PoolPlan.of(1), "count": PoolPlan.of(3)}
    assert plan.pool_of == {"read": "read", "split": "count", "count": "count"}
    assert (plan.fused, plan.group("split"), plan.unseen) == ((("split", "count"),), ("split", "count"), {"count"})
    assert plan.assignment == APART.assignment


def test_a_group_can_grow_at_its_front():
    plan = APART.after(fuse("split", "count")).after(fuse("read", "split", "count"))
    assert (plan.fused, list(plan.pools)) == ((("read", "split", "count"),), ["count"])


def test_split_operators_have_pools_of_their_own_and_the_last_keeps_its():
    fused = APART.after(fuse("read", "split", "count"))
    plan = fused.after(Split(operators=("read", "split", "count"), reason="", executors=2))
    assert plan.pools == {"read": PoolPlan.of(2), "split": PoolPlan.of(2), "count": PoolPlan.of(3)}
    assert plan.pool_of == APART.pool_of
    assert (plan.fused, plan.assignment) == ((), APART.assignment)


def test_operators_that_are_fused_from_the_start_have_the_pool_of_the_last_one():
    plan = Plan.initial(CHAIN, {"split": 2}, fused=[("count", "split", "in", "read")])
    assert plan.fused == (("in", "read", "split", "count"),)
    assert plan.pools == {"count": PoolPlan.of(2)}
    assert plan.unseen == {"split", "count"}


def test_a_pool_that_somebody_else_needs_stays_when_one_of_its_operators_is_fused():
    plan = Plan.initial(CHAIN, shared=[("read", "split")]).after(fuse("split", "count"))
    assert (plan.pool_of["read"], plan.pool_of["split"]) == ("read+split", "count")


@pytest.mark.parametrize(
    ("plan", "decision", "words"),
    [
        (APART, fuse("count"), "name two or more, each once"),
        (APART, fuse("split", "split", "count"), "name two or more, each once"),
        (APART, fuse("spilt", "count"), "did you mean 'split'"),
        (APART, fuse("count", "split"), "'count' is keyed: it can be fused only as the last"),
        (APART.after(fuse("read", "split")), fuse("split", "count"), r"read\+split is already fused"),
        (
            APART,
            Split(operators=("split", "count"), reason=""),
            r"split\+count is not fused: the plan has nothing fused",
        ),
        (
            APART.after(fuse("split", "count")),
            Split(operators=("read", "split"), reason=""),
            r"the plan has split\+count",
        ),
        (
            Plan.initial(CHAIN, fused=[("in", "read")]),
            Split(operators=("read",), reason=""),
            r"read is not fused: the plan has in\+read fused",
        ),
        (
            APART.after(fuse("split", "count")),
            Split(operators=("split", "count"), reason="", executors=0),
            "0 executors for each of",
        ),
    ],
)
def test_what_cannot_be_fused_or_split_is_refused_with_the_reason(plan, decision, words):
    with pytest.raises(StaleDecisionError, match=words):
        plan.after(decision)


def test_a_hold_is_the_same_plan():
    assert START.after(Hold(pool="count", reason="all is well")) is START


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (scale(0), "at least 1 must stay"),
        (scale(10**12), "1000000000000 executors for 'count': a pool has 100000 at most"),
        (scale(1, leaving=(7,)), r"executors \[7\] of 'count' cannot leave"),
        (scale(2, "counts"), "did you mean 'count'"),
        (scale(2, "split", transfers=(Transfer((0,), 0, 1),)), "pool 'split' serves 0 keyed operators"),
        (scale(4, transfers=(Transfer((0,), 0, 4),)), "executor 4 of 'count' is not in the plan"),
        (move([0], 1, 2), "substream 0 of 'count' is not on executor 1"),
        (move([12], 0, 2), "substream 12 of 'count' is not on executor 0"),
        (move([-1], 2, 1), "substream -1 of 'count' is not on executor 2"),
        (move([0], 0, 3), "executor 3 of 'count' is not in the plan"),
        (move([0], 0, 0, "split"), "'split' is not keyed"),
        (
            Place(pool="rank", reason="", locations={5: Location("n")}),
            r"executors \[5\] of 'rank' cannot be placed",
        ),
    ],
)
def test_a_decision_that_does_not_fit_the_plan_is_refused_and_says_why(decision, words):
    with pytest.raises(StaleDecisionError, match=words):
        START.after(decision)


numbers = st.integers(-1, 8)
some_moves = st.lists(
    st.builds(Transfer, st.lists(st.integers(-1, 12), max_size=3).map(tuple), numbers, numbers), max_size=2
).map(tuple)
keyed = st.sampled_from(["count", "rank"])
decisions = st.one_of(
    st.builds(scale, st.integers(-1, 9), st.sampled_from(["split", "count", "rank", "both"])),
    st.builds(
        lambda n, pool, leaving, moves: scale(n, pool, leaving=leaving, transfers=moves),
        st.integers(0, 9),
        st.sampled_from(["count", "rank", "both"]),
        st.lists(numbers, max_size=2).map(tuple),
        some_moves,
    ),
    st.builds(lambda o, moves: Move(operator=o, reason="", transfers=moves), keyed, some_moves),
)
loads = st.none() | st.fixed_dictionaries({"count": st.lists(st.floats(0, 100), min_size=12, max_size=12)})


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([START, SHARED]), st.lists(st.tuples(decisions, loads), max_size=12))
def test_every_substream_is_always_on_exactly_one_executor_that_exists(plan, steps):
    used = {pool: set(p.executors) for pool, p in plan.pools.items()}
    for decision, load in steps:
        before = plan
        try:
            plan = plan.after(decision, load)
        except StaleDecisionError:
            continue
        assert plan.revision == before.revision + 1
        for operator in ("count", "rank"):
            assert len(plan.assignment[operator]) == TOPOLOGY.operators[operator].substream_count
            assert set(plan.assignment[operator]) <= set(plan.pool(operator).executors)
        if isinstance(decision, Scale):
            assert plan.pools[decision.pool].size == decision.executors
        for name, pool in plan.pools.items():
            assert len(set(pool.executors)) == len(pool.executors) >= 1
            new = set(pool.executors) - set(before.pools[name].executors)
            assert not new & used[name], "an executor's number was used again"
            used[name] |= new


owners = st.lists(st.integers(0, 7), min_size=1, max_size=60)
executors = st.lists(st.integers(0, 9), min_size=1, max_size=8, unique=True)


@settings(max_examples=200, deadline=None)
@given(owners, executors)
def test_equal_substreams_end_within_one_of_each_other_and_no_more_move_than_must(owners, executors):
    spread = spread_evenly(owners, executors)
    counts = sorted(spread.count(executor) for executor in executors)
    assert counts[-1] - counts[0] <= 1
    floor, extra = divmod(len(owners), len(executors))
    before = sorted((owners.count(executor) for executor in executors), reverse=True)
    may_stay = sum(min(have, floor + (rank < extra)) for rank, have in enumerate(before))
    assert sum(old == new for old, new in zip(owners, spread, strict=True)) == may_stay


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 50)), min_size=1, max_size=40), executors)
def test_no_single_move_from_the_fullest_to_the_emptiest_could_narrow_the_gap(substreams, executors):
    owners, weights = zip(*substreams, strict=True)
    spread = spread_evenly(owners, executors, weights)
    assert set(spread) <= set(executors)
    if sum(weights) <= 0:
        return
    load = {e: sum(w for w, owner in zip(weights, spread, strict=True) if owner == e) for e in executors}
    gap = max(load.values()) - min(load.values())
    fullest = {e for e in executors if load[e] >= max(load.values()) - 1e-6}
    on_fullest = [w for w, owner in zip(weights, spread, strict=True) if owner in fullest and w > 1e-3]
    if len(fullest) == 1:
        assert all(weight >= gap * (1 - 1e-6) - 1e-6 for weight in on_fullest)


def test_quiet_orphans_do_not_all_land_on_the_least_loaded_executor():
    spread = spread_evenly((9,) * 8 + (0, 1), (0, 1), [0.0] * 8 + [5.0, 4.0])
    assert (spread[:8].count(0), spread[:8].count(1)) == (4, 4)


def test_ten_thousand_substreams_spread_without_trying_all_pairs():
    spread = spread_evenly([0] * 10_000, range(20), [float(i % 97) for i in range(10_000)])
    loads = [sum(i % 97 for i, owner in enumerate(spread) if owner == e) for e in range(20)]
    assert max(loads) - min(loads) < 97


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({"fused": [("split", "cuont")]}, r"cannot fuse 'cuont' .* did you mean 'count'"),
        ({"fused": [("in", "split"), ("split", "count")]}, "cannot fuse 'split' twice"),
        ({"shared": [("split", "cuont")]}, r"cannot share a pool with 'cuont' .* did you mean 'count'"),
        ({"shared": [("in", "split")]}, r"cannot share a pool with 'in' .* known: count, rank, split"),
    ],
)
def test_a_group_of_something_else_than_the_topology_has_is_refused_by_name(groups, reason):
    with pytest.raises(TopologyError, match=reason):
        Plan.initial(TOPOLOGY, **groups)
