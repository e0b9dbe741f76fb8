import pytest

from rheostat.decision import Hold
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("work", inputs="in", key="k", substreams=24)])


class Loop:
    """Carries out what the policy decides, every 15 s."""

    def __init__(self, size=1, budget=None, **options):
        self.goal = Goal(TOPOLOGY, budget=budget or Budget())
        self.policy = make_policy("lag", self.goal, options)
        self.plan = Plan.initial(TOPOLOGY, size)
        self.time_s = 0.0
        self.decide(None)

    def decide(self, backlog, settling=()):
        measures = Measures(15.0, {"work": OperatorMeasures(queued=backlog)})
        snapshot = Snapshot(self.time_s, ())
        observation = Observation(snapshot, measures, self.plan, frozenset(settling), self.goal.budget)
        [decision] = self.policy.decide(observation)
        self.plan = self.plan.after(decision)
        self.time_s += 15.0
        return decision

    def size(self, backlog):
        self.decide(backlog)
        return self.plan.size("work")


@pytest.mark.parametrize(
    ("size", "backlog", "wanted"),
    [(5, 51, 5), (5, 55, 5), (5, 45, 5), (5, 56, 6), (10, 111, 12), (10, 110, 10), (3, 0, 3), (2, 20, 2)],
)
def test_it_wants_backlog_over_threshold_rounded_up_outside_the_tolerance(size, backlog, wanted):
    assert Loop(size).size(backlog) == wanted


def test_it_says_what_it_compared():
    assert Loop(3).decide(47).reason == "backlog 47 records, 10 for each executor: 4.7 wanted, scale out 3 -> 5"


def test_it_grows_by_four_or_to_twice_its_size_at_most():
    loop = Loop(1)
    assert [loop.size(1000) for _ in range(4)] == [5, 10, 20, 24], "24 substreams are the most"


def test_it_shrinks_to_the_most_that_was_wanted_in_five_minutes():
    loop = Loop(20)
    backlogs = [200, *[100] * 10, *[50] * 40]
    sizes = [loop.size(backlog) for backlog in backlogs]
    assert sizes[:21] == [20] * 21, "20 were wanted 300 s ago"
    assert sizes[21] == 10
    assert sizes[-1] == 5


def test_an_idle_pool_falls_to_its_least_size_after_the_cooldown():
    loop = Loop(20, Budget(least={"work": 2}), cooldown="30s")
    assert [loop.size(0) for _ in range(3)] == [20, 2, 2]


def test_a_backlog_that_does_not_activate_it_counts_as_idle():
    loop = Loop(20, cooldown="30s", activation=100)
    assert [loop.size(100) for _ in range(2)] == [20, 1]
    assert loop.size(101) == 5


@pytest.mark.parametrize(("backlog", "settling"), [(None, ()), (500, ("work",))])
def test_without_a_backlog_and_while_settling_it_holds(backlog, settling):
    assert isinstance(Loop(3).decide(backlog, settling), Hold)


def test_the_budget_bounds_it():
    assert Loop(3, Budget(total=4)).size(1000) == 4
