"""Plans and clusters that change, and the instructions that follow from it: lists are compared, without Spark."""

from dataclasses import replace

import pytest
from sites import ACTIVE, LEAVING, REQUESTED, STARTING, WARM, executor, executors

from rheostat.decision import Fuse, Location, Place, Regroup, Scale, Split
from rheostat.plan import Plan
from rheostat.spark.act.cluster_view import ClusterView, ReconcileRules
from rheostat.spark.act.instructions import (
    CreateProfile,
    Decommission,
    GroupRows,
    Kill,
    RearrangeQueries,
    RequestTotals,
    RouteTasks,
    WaitForLocality,
    WarmUp,
)
from rheostat.spark.act.plan_progress import reached
from rheostat.spark.act.pool_sites import first_book
from rheostat.spark.act.reconcile import reconcile
from rheostat.spark.state.executor_book import ExecutorBook, PoolSite
from rheostat.topology import Operator, Source, Topology

CHAIN = Topology(
    "chain", [Source("s"), Operator("split", inputs="s"), Operator("count", inputs="split", key="k", substreams=4)]
)
ONE = Topology("one", [Source("s"), Operator("work", inputs="s")])
SPLIT, COUNT, WORK = PoolSite("split"), PoolSite("count"), PoolSite("work")
BASE = executor("base", profile=0)


class Cluster:
    """A cluster as the reconciler sees it, and the books of one call after the other."""

    def __init__(self, topology, plan, profiles, *, can_route=True, nodes=None, **rules):
        self.plan, self.time_s = plan, 0.0
        self.rules = ReconcileRules(topology, can_route, nodes=nodes or {}, **rules)
        self.view = ClusterView(profiles=profiles)
        self.book = first_book(plan, (), nodes or {})
        self.obstacles = ()

    def step(self, seconds=1.0, **changes):
        """One call, `seconds` later, with these changes in what the cluster shows; the instructions."""
        self.time_s += seconds
        self.view = replace(self.view, **changes)
        result = reconcile(self.view, self.plan, self.book, self.time_s, self.rules)
        self.book, self.obstacles = result.book, result.obstacles
        return list(result.instructions)

    def decide(self, decision):
        self.plan = self.plan.after(decision)

    def phases(self):
        return [(m.pool, m.number, m.phase, m.executor and m.executor.id) for m in self.book.members()]

    @property
    def reached(self):
        return reached(self.plan, self.book, self.view.groups)


def one(size=1, *, standby=0, **options):
    return Cluster(ONE, Plan.initial(ONE, size, standby={"work": standby}), {WORK: 1}, **options)


def settled(size=1, *, standby=0, **options):
    """A pool of executors a, b, ... that serve, and standbys."""
    cluster = one(size, standby=standby, **options)
    ids = "abcdefgh"[: size + standby]
    cluster.step(executors=(BASE, *executors(*ids)), warmed_up=frozenset(ids))
    assert cluster.reached == {"work"}
    return cluster


def of_type(kind, instructions):
    return [each for each in instructions if isinstance(each, kind)]


def test_a_new_pool_requests_its_executors_and_the_reserved_one():
    cluster = one(2, standby=1)
    assert cluster.step() == [
        RouteTasks("work", WORK, ()),
        WaitForLocality(True),
        RequestTotals({0: 1, 1: 3}),
    ]
    assert cluster.phases() == [("work", 0, REQUESTED, None), ("work", 1, REQUESTED, None)]
    assert cluster.reached == frozenset()


def test_the_first_executor_serves_at_once_and_the_second_is_warmed_up():
    cluster = one(2)
    a, b = executors("a", "b")
    assert cluster.step(executors=(BASE, a, b)) == [
        RouteTasks("work", WORK, (a,)),
        WaitForLocality(True),
        WarmUp(WORK, (b,), frozenset({"work"})),
        RequestTotals({0: 1, 1: 2}),
        GroupRows("work", None, 2, ("work",)),
    ]
    assert cluster.step() == [
        RouteTasks("work", WORK, (a,)),
        WaitForLocality(True),
        RequestTotals({0: 1, 1: 2}),
        GroupRows("work", None, 2, ("work",)),
    ]
    assert cluster.step(warmed_up=frozenset({"b"})) == [
        RouteTasks("work", WORK, (a, b)),
        WaitForLocality(True),
        RequestTotals({0: 1, 1: 2}),
        GroupRows("work", None, 2, ("work",)),
    ]
    assert cluster.reached == {"work"}


@pytest.mark.parametrize(("planned", "tasks"), [(2, 2), (3, 4), (4, 4), (7, 8)])
def test_rows_are_spread_over_tasks_for_executors_that_start_as_far_as_there_is_room(planned, tasks):
    cluster = settled(2)
    cluster.decide(Scale(pool="work", executors=planned, reason="test"))
    assert of_type(GroupRows, cluster.step()) == [GroupRows("work", None, tasks, ("work",))]
    cluster.step(seconds=600.0, room=3)
    assert "work" in cluster.book.short or planned == 2
    assert of_type(GroupRows, cluster.step()) == [GroupRows("work", None, 2, ("work",))]


def test_a_grouping_that_makes_several_tasks_itself_gets_one_for_each_slot_while_executors_start():
    cluster = settled(2)
    cluster.decide(Regroup(operator="work", grouping="load-aware", reason="test"))
    cluster.decide(Scale(pool="work", executors=4, reason="test"))
    assert of_type(GroupRows, cluster.step()) == [GroupRows("work", "load-aware", 2, ("work",))]


def test_substreams_follow_the_plan_and_the_tasks_of_a_keyed_operator_are_its_own():
    cluster = Cluster(CHAIN, Plan.initial(CHAIN, {"split": 1, "count": 2}), {SPLIT: 1, COUNT: 2})
    a, (b, c) = executor("a"), executors("b", "c", profile=2)
    instructions = cluster.step(executors=(BASE, a, b, c), warmed_up=frozenset("abc"))
    assert of_type(RouteTasks, instructions) == [
        RouteTasks("split", SPLIT, (a,)),
        RouteTasks("count", COUNT, (b, c), (b, b, c, c)),
    ]
    assert of_type(GroupRows, instructions) == [GroupRows("split", None, 1, ("split",))]
    assert cluster.book.owner_numbers("count") == cluster.plan.assignment["count"]


def test_an_executor_that_leaves_is_routed_around_drained_and_killed():
    cluster = settled(2)
    cluster.decide(Scale(pool="work", executors=1, reason="test"))
    a = executor("a")
    first = cluster.step(work=frozenset({"job 7"}))
    assert of_type(RouteTasks, first) == [RouteTasks("work", WORK, (a,))]
    assert of_type(RequestTotals, first) == [RequestTotals({0: 1, 1: 2})]
    assert of_type(Kill, first) == []
    assert of_type(Kill, cluster.step(work=frozenset({"job 7", "job 8"}))) == []
    last = cluster.step(work=frozenset({"job 9"}))
    assert last.index(RequestTotals({0: 1, 1: 1})) < last.index(Kill(("b",)))
    assert cluster.reached == frozenset()
    cluster.step(executors=(BASE, a))
    assert (cluster.reached, cluster.book.is_settled) == ({"work"}, True)


def test_a_standby_serves_at_once_and_another_is_requested_for_it():
    cluster = settled(1, standby=1)
    assert cluster.phases() == [("work", -2, WARM, "b"), ("work", 0, ACTIVE, "a")]
    cluster.decide(Scale(pool="work", executors=2, reason="test"))
    instructions = cluster.step()
    assert of_type(RouteTasks, instructions) == [RouteTasks("work", WORK, executors("a", "b"))]
    assert of_type(RequestTotals, instructions) == [RequestTotals({0: 1, 1: 3})]
    assert cluster.reached == {"work"}
    assert not cluster.book.is_settled


def test_tasks_wait_for_no_executor_from_the_death_of_one_until_its_replacement_serves():
    cluster = settled(2)
    a, c = executors("a", "c")
    assert WaitForLocality(False) in cluster.step(executors=(BASE, a))
    assert WaitForLocality(False) in cluster.step(executors=(BASE, a, c))
    assert WaitForLocality(True) in cluster.step(warmed_up=frozenset("abc"))
    assert cluster.phases() == [("work", 0, ACTIVE, "a"), ("work", 1, ACTIVE, "c")]


def test_a_replacement_that_does_not_come_is_not_waited_for_and_reported():
    cluster = settled(2, shortage_after_s=10)
    cluster.step(executors=(BASE, *executors("a")))
    assert cluster.obstacles == ()
    assert WaitForLocality(True) in cluster.step(11)
    assert cluster.obstacles == (
        "pool 'work' has waited longer than 10s for 1 of its 2 executors: "
        "they are still starting, or the cluster has no free cores or memory for them",
    )
    cluster.step(executors=(BASE, *executors("a", "c")), warmed_up=frozenset("abc"))
    assert cluster.obstacles == ()


def test_surplus_executors_of_the_default_profile_and_of_unknown_ones_are_killed():
    cluster = settled(1)
    spare, stranger = executor("spare", profile=0), executor("stranger", profile=9)
    assert of_type(Kill, cluster.step(executors=(BASE, spare, stranger, executor("a")))) == [
        Kill(("spare", "stranger"))
    ]


@pytest.fixture
def on_left():
    left = PoolSite("work", "left")
    cluster = Cluster(ONE, Plan.initial(ONE, 1), {left: 1}, nodes={"work": "left"})
    cluster.step(executors=(BASE, executor("a")), warmed_up=frozenset("a"))
    return cluster


def test_a_pool_serves_at_the_old_node_until_all_executors_at_the_new_one_are_warm(on_left):
    left, right = PoolSite("work", "left"), PoolSite("work", "right")
    on_left.decide(Place(pool="work", locations={0: Location("right")}, reason="test"))
    assert on_left.step()[0] == CreateProfile(right)
    a, b = executor("a"), executor("b", profile=2)
    assert RequestTotals({0: 1, 1: 1, 2: 1}) in on_left.step(profiles={left: 1, right: 2})
    coming = on_left.step(executors=(BASE, a, b))
    assert of_type(RouteTasks, coming) == [RouteTasks("work", left, (a,))]
    assert of_type(WarmUp, coming) == [WarmUp(right, (b,), frozenset({"work"}))]
    assert on_left.phases() == [("work", 0, ACTIVE, "a"), ("work", -1, STARTING, "b")]
    assert on_left.reached == frozenset()
    assert of_type(RouteTasks, on_left.step(warmed_up=frozenset("ab"))) == [RouteTasks("work", right, (b,))]
    assert on_left.reached == {"work"}
    assert on_left.phases() == [("work", 0, ACTIVE, "b"), ("work", -1, LEAVING, "a")]
    on_left.step()
    assert of_type(Kill, on_left.step()) == [Kill(("a",))]
    on_left.step(executors=(BASE, b))
    assert RequestTotals({0: 1, 2: 1}) in on_left.step()
    assert on_left.book.is_settled


def test_a_move_that_is_taken_back_ends_the_executors_that_came_for_it(on_left):
    left, right = PoolSite("work", "left"), PoolSite("work", "right")
    stay = on_left.plan
    on_left.decide(Place(pool="work", locations={0: Location("right")}, reason="test"))
    on_left.step()
    a, b = executor("a"), executor("b", profile=2)
    on_left.step(profiles={left: 1, right: 2}, executors=(BASE, a, b))
    on_left.plan = stay
    assert of_type(Kill, on_left.step()) == [Kill(("b",))]
    assert RequestTotals({0: 1, 1: 1, 2: 0}) in on_left.step()
    on_left.step(executors=(BASE, a))
    assert on_left.reached == {"work"}


def test_a_pool_cannot_be_on_two_nodes_or_on_one_in_part(on_left):
    two = Place(pool="work", locations={0: Location("left"), 1: Location("right")}, reason="test")
    on_left.plan = Plan.initial(ONE, 2).after(two)
    on_left.step(executors=(BASE, *executors("a", "b")), warmed_up=frozenset("ab"))
    assert "pool 'work' cannot be on left and right at once: on Spark a pool is placed as a whole" in on_left.obstacles
    assert on_left.reached == frozenset()
    on_left.plan = Plan.initial(ONE, 2).after(Place(pool="work", locations={0: Location("right")}, reason="test"))
    on_left.step()
    assert "pool 'work' cannot be on right in part: on Spark a pool is placed as a whole" in on_left.obstacles
    assert on_left.reached == frozenset()


def chain(**options):
    """Both operators served by one executor each."""
    cluster = Cluster(CHAIN, Plan.initial(CHAIN), {SPLIT: 1, COUNT: 2}, **options)
    cluster.step(executors=(BASE, executor("a"), executor("b", profile=2)), warmed_up=frozenset("ab"))
    assert cluster.reached == {"split", "count"}
    return cluster


FUSE = Fuse(operators=("split", "count"), reason="test")
PAIR = (("split", "count"),)


def test_operators_share_a_pool_before_they_share_a_query():
    cluster = chain()
    cluster.decide(FUSE)
    instructions = cluster.step()
    assert of_type(RouteTasks, instructions)[0] == RouteTasks("split", COUNT, executors("b", profile=2))
    assert RearrangeQueries(PAIR) in instructions
    assert cluster.reached == frozenset()
    cluster.step(groups=PAIR)
    assert cluster.reached == {"count"}
    assert of_type(Kill, cluster.step()) == [Kill(("a",))]
    cluster.step(executors=(BASE, executor("b", profile=2)))
    assert RequestTotals({0: 1, 2: 1}) in cluster.step()
    assert list(cluster.book.pools) == ["count"]


def test_operators_that_are_to_be_split_stay_together_until_they_are():
    cluster = chain()
    cluster.decide(FUSE)
    cluster.step(groups=PAIR, executors=(BASE, executor("b", profile=2)))
    cluster.step()
    cluster.decide(Split(operators=("split", "count"), reason="test"))
    instructions = cluster.step(executors=(BASE, executor("b", profile=2), executor("c", profile=1)))
    assert RearrangeQueries(()) in instructions
    cluster.step(warmed_up=frozenset("abc"))
    assert cluster.book.pool_of == {"split": "count", "count": "count"}
    instructions = cluster.step(groups=())
    assert cluster.book.pool_of == {"split": "split", "count": "count"}
    assert RouteTasks("split", SPLIT, (executor("c"),)) in instructions
    assert cluster.reached == {"split", "count"}


def test_a_new_pool_serves_no_operator_before_an_executor_of_it_is_warm():
    cluster = chain()
    cluster.decide(FUSE)
    cluster.step(groups=PAIR, executors=(BASE, executor("b", profile=2)))
    cluster.step()
    cluster.decide(Split(operators=("split", "count"), reason="test"))
    cluster.step(groups=(), executors=(BASE, executor("b", profile=2), executor("c", profile=1)))
    assert cluster.book.pool_of["split"] == "count"


def test_without_routing_leaving_executors_are_decommissioned_and_never_serve_again():
    cluster = settled(2, can_route=False)
    b = executor("b")
    cluster.decide(Scale(pool="work", executors=1, leaving=(1,), reason="test"))
    assert of_type(Decommission, cluster.step()) == [Decommission(("b",))]
    assert of_type(Decommission, cluster.step(0)) == []
    cluster.decide(Scale(pool="work", executors=2, reason="test"))
    a = executor("a")
    instructions = cluster.step()
    assert of_type(RouteTasks, instructions) == [RouteTasks("work", WORK, (a,))]
    assert RequestTotals({0: 1, 1: 2}) in instructions
    assert Kill(("b",)) in instructions
    assert of_type(RouteTasks, cluster.step(executors=(BASE, a, executor("c")))) == [
        RouteTasks("work", WORK, (a, executor("c")))
    ]
    assert b.id not in {member.executor.id for member in cluster.book.members()}


def test_without_routing_there_are_no_standbys_no_warm_ups_and_no_moves_of_a_pool():
    cluster = Cluster(CHAIN, Plan.initial(CHAIN, standby={"split": 1}), {SPLIT: 1, COUNT: 2}, can_route=False)
    instructions = cluster.step(executors=(BASE, executor("a"), executor("b", profile=2)))
    assert RequestTotals({0: 1, 1: 1, 2: 1}) in instructions
    assert of_type(WarmUp, instructions) == []
    assert cluster.obstacles == ("pool 'split' has none of its 1 standbys: that needs the JVM helpers",)
    assert cluster.reached == {"split", "count"}
    cluster.decide(FUSE)
    cluster.step()
    assert cluster.obstacles == (
        "operator 'split' stays in pool 'split': a change while it runs needs the JVM helpers",
    )
    cluster.decide(Place(pool="count", locations={0: Location("right")}, reason="test"))
    cluster.step()
    assert "pool 'count' cannot move to 'right' while it runs: that needs the JVM helpers" in cluster.obstacles


@pytest.fixture
def attached():
    """An application with two executors of the default profile and one of another, which is not ours."""
    cluster = Cluster(ONE, Plan.initial(ONE, 2), {WORK: 0}, can_route=False, reserved=None, others={5: 1})
    cluster.step(executors=(*executors("a", "b", profile=0), executor("x", profile=5)))
    assert cluster.reached == {"work"}
    return cluster


def test_an_application_is_scaled_in_its_default_profile_and_others_keep_their_executors(attached):
    attached.decide(Scale(pool="work", executors=1, reason="test"))
    instructions = attached.step()
    assert instructions.index(WaitForLocality(False)) < instructions.index(Decommission(("b",)))
    assert RequestTotals({5: 1, 0: 2}) in instructions
    assert of_type(Kill, instructions) == []
    last = attached.step()
    assert last.index(RequestTotals({5: 1, 0: 1})) < last.index(Kill(("b",)))
    assert WaitForLocality(True) in attached.step(executors=(executor("a", profile=0), executor("x", profile=5)))


def test_more_executors_than_the_application_has_room_for_are_reported_at_once(attached):
    attached.decide(Scale(pool="work", executors=4, reason="test"))
    assert RequestTotals({5: 1, 0: 3}) in attached.step(room=3)
    assert attached.obstacles == ("pool 'work' gets 3 of its 4 executors: the cluster has room for 3 executors",)


def test_on_a_local_master_a_plan_is_real_at_once_and_tasks_stand_for_executors():
    plan = Plan.initial(CHAIN, 2)
    rules, view = ReconcileRules(CHAIN, can_route=False), ClusterView()
    result = reconcile(view, plan, ExecutorBook.of_local_master(plan), 0.0, rules)
    assert result.instructions == (GroupRows("split", None, 2, ("split",)),)
    assert [(m.pool, m.number, m.phase) for m in result.book.members()] == [
        (pool, number, ACTIVE) for pool in ("split", "count") for number in (0, 1)
    ]
    assert reached(plan, result.book, ()) == {"split", "count"}
    wider = plan.after(Scale(pool="count", executors=4, reason="test"))
    assert reached(wider, result.book, ()) == {"split"}
    result = reconcile(view, wider, result.book, 1.0, rules)
    assert reached(wider, result.book, ()) == {"split", "count"}
    assert result.book.owner_numbers("count") == wider.assignment["count"]


def test_on_a_local_master_there_are_neither_nodes_nor_standbys():
    plan = Plan.initial(ONE, standby={"work": 2}).after(
        Place(pool="work", locations={0: Location("left")}, reason="test")
    )
    rules = ReconcileRules(ONE, can_route=False, why_fixed="a local master has no executors")
    result = reconcile(ClusterView(), plan, ExecutorBook.of_local_master(plan), 0.0, rules)
    assert result.obstacles == (
        "pool 'work' cannot move to 'left' while it runs: a local master has no executors",
        "pool 'work' has none of its 2 standbys: a local master has no executors",
    )
    assert reached(plan, result.book, ()) == frozenset()


def test_a_grouping_is_reached_when_it_is_in_force():
    cluster = chain()
    cluster.decide(Regroup(operator="split", grouping="load-aware", reason="test"))
    cluster.step()
    assert cluster.reached == {"count"}
    cluster.book.groupings = {"split": "load-aware"}
    assert cluster.reached == {"split", "count"}
    cluster.plan = Plan.initial(CHAIN)
    assert cluster.reached == {"count"}
    cluster.plan = Plan.initial(CHAIN, grouping={"split": "load-aware", "count": "key"})
    assert cluster.reached == {"split", "count"}
    cluster.plan = Plan.initial(CHAIN, grouping={"split": "load-aware", "count": "osg"})
    assert cluster.reached == {"split"}


def test_a_book_that_was_published_is_never_changed():
    cluster = settled(2)
    book, before = cluster.book, cluster.phases()
    cluster.decide(Scale(pool="work", executors=1, reason="test"))
    cluster.step(executors=(BASE,))
    assert [(m.pool, m.number, m.phase, m.executor and m.executor.id) for m in book.members()] == before


def test_the_same_call_gives_the_same_instructions():
    cluster = settled(2)
    cluster.decide(Scale(pool="work", executors=1, reason="test"))
    once, again = (reconcile(cluster.view, cluster.plan, cluster.book, 5.0, cluster.rules) for _ in range(2))
    assert once.instructions == again.instructions
