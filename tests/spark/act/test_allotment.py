"""A cluster that cannot give what the plan wants: who gets how many executors, and that nobody starves; no Spark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sites import executor

from rheostat.decision import Scale
from rheostat.plan import Plan
from rheostat.spark.act.allotment import STARVING_AFTER_S, deal
from rheostat.spark.act.cluster_view import ClusterView, ReconcileRules
from rheostat.spark.act.instructions import Kill, RequestTotals
from rheostat.spark.act.plan_progress import reached
from rheostat.spark.act.pool_sites import first_book
from rheostat.spark.act.reconcile import reconcile
from rheostat.spark.state.executor_book import PoolSite
from rheostat.topology import Operator, Source, Topology

CHAIN = Topology(
    "chain",
    [
        Source("s"),
        Operator("a", inputs="s"),
        Operator("b", inputs="a", key="k", substreams=6),
        Operator("c", inputs="b"),
    ],
)
POOLS = ("a", "b", "c")
SITES = {pool: PoolSite(pool) for pool in POOLS}
PROFILES = {SITES[pool]: number for number, pool in enumerate(POOLS, 1)}
SOURCES = 0


class StandaloneMaster:
    """Slots that go to the resource profiles in the order of their ids, as a standalone master gives them."""

    def __init__(self, plan: Plan, slots: int, *, tells_room: bool = True, **rules) -> None:
        self.plan, self.slots, self.tells_room, self.time_s = plan, slots, tells_room, 0.0
        self.rules = ReconcileRules(CHAIN, can_route=True, **rules)
        self.book = first_book(plan, (), {})
        self.executors = []
        self._totals = {}
        self._ids = 0
        self.obstacles = ()

    def step(self, seconds: float = 1.0) -> None:
        self.time_s += seconds
        view = ClusterView(
            tuple(self.executors),
            profiles=PROFILES,
            warmed_up=frozenset(each.id for each in self.executors),
            room=self.slots if self.tells_room else None,
        )
        result = reconcile(view, self.plan, self.book, self.time_s, self.rules)
        self.book, self.obstacles = result.book, result.obstacles
        for instruction in result.instructions:
            match instruction:
                case RequestTotals():
                    self._totals = dict(instruction.totals)
                case Kill():
                    self.executors = [each for each in self.executors if each.id not in instruction.executor_ids]
        self._grant()

    def steps(self, count: int, seconds: float = 1.0) -> None:
        for _ in range(count):
            self.step(seconds)

    def scale(self, pool: str, executors: int) -> None:
        self.plan = self.plan.after(Scale(pool=pool, executors=executors, reason="test"))

    def lose(self, *ids: str) -> None:
        self.executors = [each for each in self.executors if each.id not in ids]

    def shrink(self, slots: int) -> None:
        """The last executors are lost with their worker."""
        self.slots = slots
        self.executors = self.executors[:slots]

    def restart_driver(self) -> None:
        """A new driver follows the plan of the journal, and knows nothing of the executors there were."""
        self.book, self.executors, self._totals = first_book(self.plan, (), {}), [], {}

    def sizes(self) -> dict[str, int]:
        """The executors of sources and pools."""
        names = {SOURCES: "sources", **{profile: site.pool for site, profile in PROFILES.items()}}
        found = dict.fromkeys(names.values(), 0)
        for each in self.executors:
            found[names[each.profile]] += 1
        return found

    def _grant(self) -> None:
        for profile in sorted(self._totals):
            while len(self.executors) < self.slots and self._count(profile) < self._totals[profile]:
                self._ids += 1
                self.executors.append(executor(f"e{self._ids}", profile=profile))

    def _count(self, profile: int) -> int:
        return sum(each.profile == profile for each in self.executors)


def chain(a: int, b: int, c: int) -> Plan:
    return Plan.initial(CHAIN, {"a": a, "b": b, "c": c})


def test_what_fits_is_given_and_the_rest_is_dealt_by_need():
    master = StandaloneMaster(chain(6, 3, 1), slots=7)
    master.steps(5)
    assert master.sizes() == {"sources": 1, "a": 3, "b": 2, "c": 1}
    assert master.obstacles == (
        "pool 'a' gets 3 of its 6 executors: the cluster has room for 7 executors, 1 of them for sources",
        "pool 'b' gets 2 of its 3 executors: the cluster has room for 7 executors, 1 of them for sources",
    )
    assert master.book.room == 6
    assert master.book.short == {"a", "b"}
    assert reached(master.plan, master.book, ()) == {"c"}


def test_the_plan_is_met_when_the_cluster_grows():
    master = StandaloneMaster(chain(6, 3, 1), slots=7)
    master.steps(5)
    master.slots = 12
    master.steps(5)
    assert master.sizes() == {"sources": 1, "a": 6, "b": 3, "c": 1}
    assert (master.book.short, master.obstacles) == (frozenset(), ())
    assert reached(master.plan, master.book, ()) == {"a", "b", "c"}


def test_a_minimum_comes_before_any_gets_more():
    master = StandaloneMaster(chain(6, 3, 1), slots=6, least={"b": 3})
    master.steps(5)
    assert master.sizes() == {"sources": 1, "a": 1, "b": 3, "c": 1}


def test_a_restarted_driver_with_a_plan_beyond_the_cluster_starves_nobody():
    master = StandaloneMaster(chain(3, 1, 1), slots=4)
    master.steps(5)
    master.restart_driver()
    master.steps(5)
    assert master.sizes() == {"sources": 1, "a": 1, "b": 1, "c": 1}


def test_where_nobody_tells_the_room_a_starving_pool_gets_an_executor_of_another():
    master = StandaloneMaster(chain(3, 1, 1), slots=4, tells_room=False)
    master.steps(5)
    assert master.sizes() == {"sources": 1, "a": 3, "b": 0, "c": 0}, "in the order of the profiles"
    master.steps(200)
    assert master.sizes() == {"sources": 1, "a": 1, "b": 1, "c": 1}
    assert master.book.short == {"a"}
    master.slots = 6
    master.steps(20)
    assert master.sizes() == {"sources": 1, "a": 3, "b": 1, "c": 1}, "more is still asked for"
    assert master.book.short == frozenset()


def test_where_nobody_tells_the_room_sources_get_an_executor_of_a_pool():
    master = StandaloneMaster(chain(3, 1, 1), slots=6, tells_room=False)
    master.steps(5)
    master.slots = 5
    master.lose(*(each.id for each in master.executors if each.profile == SOURCES))
    master.steps(5)
    assert master.sizes() == {"sources": 0, "a": 3, "b": 1, "c": 1}
    master.steps(int(STARVING_AFTER_S) + 30)
    assert master.sizes() == {"sources": 1, "a": 2, "b": 1, "c": 1}


def test_an_executor_that_is_slow_to_start_is_waited_for():
    master = StandaloneMaster(chain(2, 1, 1), slots=4, tells_room=False)
    master.steps(int(STARVING_AFTER_S) - 5)
    assert master.sizes() == {"sources": 1, "a": 2, "b": 1, "c": 0}
    master.slots = 5
    master.steps(5)
    assert master.sizes() == {"sources": 1, "a": 2, "b": 1, "c": 1}


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("scale"), st.sampled_from(POOLS), st.integers(1, 6)),
        st.tuples(st.just("shrink"), st.integers(4, 8)),
        st.tuples(st.just("grow"), st.integers(4, 12)),
        st.tuples(st.just("lose"), st.integers(0, 20)),
        st.tuples(st.just("restart")),
        st.tuples(st.just("wait"), st.integers(1, 30)),
    ),
    max_size=12,
)


@pytest.mark.parametrize("tells_room", [True, False])
@given(changes=CHANGES, sizes=st.tuples(*[st.integers(1, 6)] * 3), slots=st.integers(4, 10))
def test_no_order_of_events_leaves_a_pool_without_an_executor_while_another_has_two(tells_room, changes, sizes, slots):
    master = StandaloneMaster(chain(*sizes), slots, tells_room=tells_room)
    for what, *values in changes:
        match what:
            case "scale":
                master.scale(*values)
            case "shrink" if values[0] < master.slots:
                master.shrink(*values)
            case "grow":
                master.slots = max(master.slots, *values)
            case "lose" if master.executors:
                master.lose(master.executors[values[0] % len(master.executors)].id)
            case "restart":
                master.restart_driver()
            case "wait":
                master.steps(values[0])
        master.step()
    master.steps(40 if tells_room else 4 * int(STARVING_AFTER_S))
    found = master.sizes()
    assert all(found.values()), found
    wanted = {pool: master.plan.pools[pool].size for pool in POOLS}
    assert all(found[pool] <= wanted[pool] for pool in POOLS)
    assert sum(found.values()) == min(master.slots, sum(wanted.values()) + 1), "nothing is left unused"


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9)), st.integers(0, 40))
def test_what_is_dealt_is_as_even_as_whole_executors_can_be(wanted, room):
    given_ = deal({PoolSite(pool): count for pool, count in wanted.items()}, {}, room)
    counts = {site.pool: count for site, count in given_.items()}
    assert all(counts[pool] <= wanted[pool] for pool in wanted)
    assert sum(counts.values()) == min(room, sum(wanted.values()))
    for poor in wanted:
        for rich in wanted:
            if counts[poor] < wanted[poor] and counts[rich] > 1:
                assert counts[poor] >= 1
                assert (counts[rich] - 1) / wanted[rich] <= counts[poor] / wanted[poor]
