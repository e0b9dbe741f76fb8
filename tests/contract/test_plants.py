"""What every plant keeps to, whatever it is made of."""

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import pytest
from plant_harness import PlantHarness
from snapshot_watch import unknown, unnamed

from rheostat.decision import Fuse, Location
from rheostat.errors import RheostatError
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase

TIMES = 3
"""How often something is done again that must change nothing."""


def test_counters_never_fall_while_executors_come_and_go(it, watch):
    first = it.home.pools[it.pool].executors[0]
    it.process(watch)
    it.reach(it.more, watch)
    it.process(watch)
    it.reach(it.scaled(1, first), watch)
    it.reach(it.newer(it.home), watch)
    it.process(watch)


def test_what_is_unknown_is_none_and_a_problem_names_it(it):
    if it.knows_everything:
        assert unknown(it.plant.observe()) == []
        return
    with it.unknown() as snapshot:
        assert unknown(snapshot)
        assert unnamed(snapshot, it.names) == []


def test_the_same_plan_again_changes_nothing(it):
    plan = it.more
    it.reach(plan)
    it.until(lambda: not it.plant.apply(plan) or None, "no obstacles")
    executors = it.executors()
    for again in [plan] * TIMES + [it.newer(plan)] * TIMES:
        assert it.plant.apply(again) == ()
        assert it.plant.reached(again) == plan.pools.keys()
        it.advance()
        assert it.executors() == executors


def test_asking_what_is_reached_changes_nothing(it):
    home, executors = it.newer(it.home), it.executors()
    with it.impossible() as impossible:
        others = [it.more, impossible, *(plan for plan, _ in beyond(it))]
        for other in others * TIMES:
            assert it.pool not in it.plant.reached(other)
    assert it.executors() == executors
    assert it.plant.reached(home) == home.pools.keys()
    assert it.plant.apply(home) == ()


def test_asking_for_another_plan_does_not_stop_a_change(it):
    home, more = it.newer(it.home), it.more
    it.plant.apply(more)

    def look() -> bool | None:
        assert it.pool not in it.plant.reached(it.scaled(7))
        it.plant.reached(home)
        it.plant.apply(more)
        return it.plant.reached(more) == more.pools.keys() or None

    it.until(look, "one executor more")
    assert it.pool not in it.plant.reached(home)


def test_a_plan_that_cannot_be_met_is_reported_until_it_is_taken_back(it, watch):
    with it.impossible() as plan:
        obstacles = it.until(lambda: it.plant.apply(plan) or None, "a report")
        size = plan.pools[it.pool].size
        assert any(repr(it.pool) in obstacle or str(size) in obstacle for obstacle in obstacles)
        for _ in range(TIMES):
            it.see(watch)
            it.advance()
            assert it.plant.apply(plan)
            assert it.pool not in it.plant.reached(plan)
    home = it.newer(it.home)
    it.reach(home, watch)
    it.until(lambda: not it.plant.apply(home) or None, "the end of the report")


@pytest.mark.parametrize("change", ["out", "in"])
def test_a_change_that_is_taken_back_under_way_leaves_what_was_before(it, watch, change):
    small, large = it.newer(it.home), it.more
    before, changed = (small, large) if change == "out" else (large, small)
    it.reach(before, watch)
    executors = it.executors()
    it.plant.apply(changed)
    it.until(lambda: it.executors() != executors or None, "the beginning of the change")
    it.reach(it.newer(before), watch)


def test_time_moves_on_and_never_back(it):
    times_s = []
    for _ in range(TIMES):
        before_s = it.plant.clock.now()
        times_s.append(it.plant.observe().time_s)
        assert before_s <= times_s[-1] <= it.plant.clock.now()
        it.advance()
    assert all(later_s > earlier_s for earlier_s, later_s in pairwise(times_s))


def test_what_a_plant_cannot_do_is_refused_or_reported_and_never_reached(it):
    for plan, what in beyond(it):
        assert it.until(lambda plan=plan: refusal(it, plan), f"a report: {what}")
        for _ in range(TIMES):
            it.advance()
            assert refusal(it, plan), what
            assert it.pool not in it.plant.reached(plan), what
        it.go_home()


def test_an_offered_grouping_is_reached_and_seen(it):
    for operator, offered in it.plant.capabilities.groupings.items():
        present = it.plant.observe().operators[operator].grouping
        others = [name for name in offered if name != present and not name.endswith(":")]
        if others:
            it.reach(it.newer(msgspec.structs.replace(it.home, grouping={operator: others[0]})))
            assert it.plant.observe().operators[operator].grouping == others[0]


def test_as_many_executors_as_there_is_room_for_can_be_had_and_no_more(it):
    room = it.plant.capabilities.room
    if room is None:
        return
    others = it.home.total_with_standbys - it.home.pools[it.pool].size - it.home.pools[it.pool].standby
    size = room - others
    it.reach(it.scaled(size))
    assert it.plant.capabilities.room == room
    assert it.plant.capabilities.short == frozenset()
    beyond = it.scaled(size + 1)
    assert it.until(lambda: refusal(it, beyond), "a report that there is no room")
    it.until(lambda: it.plant.capabilities.short == {it.pool} or None, "the pool to be short")
    assert it.pool not in it.plant.reached(beyond)


def test_executors_serve_on_the_node_that_the_plan_names(it, watch):
    if not it.plant.capabilities.can_place:
        return
    pool = it.home.pools[it.pool]
    present = {executor.node for executor in it.plant.observe().active(it.pool)}
    node = next(node for node in ("left", "right") if {node} != present)
    locations = {number: Location(node) for number in pool.executors}
    it.reach(it.with_pool(msgspec.structs.replace(pool, locations=locations, standby=0)), watch)
    assert {executor.node for executor in it.plant.observe().active(it.pool)} == {node}


def test_standbys_are_warm_or_the_plant_says_why_there_are_none(it, watch):
    pool = it.home.pools[it.pool]
    plan = it.with_pool(msgspec.structs.replace(pool, standby=max(1, pool.standby)))

    def look() -> object:
        phases = [executor.phase for executor in it.see(watch).executors_of(it.pool)]
        return refusal(it, plan) or phases.count(ExecutorPhase.WARM) == plan.pools[it.pool].standby or None

    it.until(look, "standbys")


def test_counters_continue_when_operators_are_fused_and_split(it, watch):
    if not it.plant.capabilities.can_fuse:
        return
    operators = tuple(it.plant.topology.operators)
    it.process(watch)
    fused = it.newer(it.home.after(Fuse(operators=operators[-2:], reason="test")))
    it.reach(fused, watch)
    snapshot = it.see(watch)
    assert [snapshot.operators[name].completed is None for name in operators] == [n in fused.unseen for n in operators]
    it.process(watch)
    it.reach(it.newer(it.home), watch)
    it.process(watch)


def beyond(it: PlantHarness) -> Iterator[tuple[Plan, str]]:
    """Plans that the plant says it cannot follow, and why."""
    capabilities, topology, pool = it.plant.capabilities, it.plant.topology, it.home.pools[it.pool]
    if not capabilities.can_fuse:
        parts = [part.name for part in topology.parts]
        yield it.newer(msgspec.structs.replace(it.home, fused=(tuple(parts[-2:]),))), "fused"
    if not capabilities.can_place:
        located = msgspec.structs.replace(pool, locations={pool.executors[0]: Location("left")})
        yield it.with_pool(located), "placed"
    for operator in it.home.sharing(it.pool):
        grouping = next(name for name in ("osg", "nonsense") if not capabilities.can_group(operator, name))
        yield it.newer(msgspec.structs.replace(it.home, grouping={operator: grouping})), f"grouped by {grouping}"


def refusal(it: PlantHarness, plan: Plan) -> str | None:
    """Why the plant cannot follow `plan`, by an error or by what stands in the way."""
    try:
        return "; ".join(it.plant.apply(plan)) or None
    except RheostatError as error:
        return str(error)
