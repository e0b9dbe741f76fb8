import pytest

from rheostat.decision import Hold, Scale
from rheostat.errors import ConfigError
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("source", inputs="in"), Operator("sink", inputs="source")])
PUBLISHED = {
    "target_utilisation": 0.8,
    "boundary": 0.1,
    "restart": "1s",
    "catch_up": "2s",
    "stabilisation": 0,
    "metrics_window": "1s",
    "max_scale_down": 1,
    "scale_down_interval": 0,
}


class Loop:
    """Carries out what the policy decides. `rate` is processed by each operator, busy for the share `busy`."""

    def __init__(self, size=1, budget=None, topology=TOPOLOGY, **options):
        self.goal = Goal(topology, budget=budget or Budget())
        self.policy = make_policy("flink", self.goal, PUBLISHED | options)
        self.plan = Plan.initial(topology, size)
        self.time_s = 0.0

    def turn(self, rate, busy, lag, arriving=None, step_s=1.0, settling=()):
        size = self.plan.size("source")
        one = OperatorMeasures(
            completion_rate=rate, service_rate=rate / busy / size if rate else None, utilisation=busy, queued=lag
        )
        operators = {"source": one, "sink": OperatorMeasures(service_rate=one.service_rate, utilisation=busy, queued=0)}
        measures = Measures(step_s, operators, external_rate=rate if arriving is None else arriving)
        observation = Observation(Snapshot(self.time_s, ()), measures, self.plan, frozenset(settling), self.goal.budget)
        self.decisions = list(self.policy.decide(observation))
        for decision in self.decisions:
            self.plan = self.plan.after(decision)
        self.time_s += step_s
        return self.plan.size("source"), self.plan.size("sink")


def test_the_published_case_scales_both_operators_to_four():
    loop = Loop()
    assert [loop.turn(500, 0.85, 2000) for _ in range(2)] == [(1, 1), (4, 4)]
    assert loop.decisions[0].reason == (
        "the input keeps 0.85 executors busy, backlog 2,000 records; 3.19 are needed at 80% and to catch up in 2s: "
        "scale out 1 -> 4, expected utilisation 21%"
    )


def test_while_the_backlog_shrinks_the_published_case_stays_at_four():
    loop = Loop(4)
    assert [loop.turn(1800, 1.0, lag, arriving=500) for lag in (2500, 1200)] == [(4, 4), (4, 4)]


@pytest.mark.parametrize(("rate", "busy", "size"), [(800, 0.6, 4), (500, 0.5, 2), (500, 0.3, 2)])
def test_within_the_boundaries_nothing_changes(rate, busy, size):
    loop = Loop(size, target_utilisation=0.5, boundary=0.25, restart=0)
    assert [loop.turn(rate, busy, 0) for _ in range(3)][-1] == (size, size)


def test_a_catch_up_of_zero_ignores_the_backlog():
    loop = Loop(catch_up=0)
    assert [loop.turn(500, 0.85, 2000) for _ in range(3)][-1] == (1, 1)


def test_executors_leave_after_the_interval_and_the_most_that_were_wanted_stay():
    loop = Loop(10, scale_down_interval="5s", restart=0)
    busy = [0.3, 0.3, 0.5, 0.3, 0.2, 0.2, 0.2]
    sizes = [loop.turn(1000, share, 0)[0] for share in busy]
    assert sizes == [10] * 6 + [7], "0.5 of 10 at 80 % are 7, wanted 4 s ago"


def test_a_step_down_is_limited():
    loop = Loop(10, max_scale_down=0.6, restart=0)
    assert [loop.turn(100, 0.01, 0) for _ in range(2)][-1] == (4, 4)


def test_a_step_up_is_limited():
    loop = Loop(10, max_scale_up=0.5)
    assert [loop.turn(1000, 1.0, 1e6) for _ in range(2)][-1] == (15, 15)


def test_it_measures_a_full_window_after_the_stabilisation():
    loop = Loop(stabilisation="3s", metrics_window="4s")
    sizes = [loop.turn(500, 0.85, 2000)[0] for _ in range(9)]
    assert sizes == [1] * 7 + [4, 4]
    assert loop.decisions[0].reason == "3s left to stabilise after the last action: hold"


def test_an_old_backlog_is_worked_off_undisturbed():
    loop = Loop(4, catch_up="1000s", backlog_threshold="10s", restart=0)
    assert [loop.turn(100, 0.3, 1001) for _ in range(3)][-1] == (4, 4), "nothing leaves"
    assert loop.turn(100, 0.3, 999) == (2, 2)


def test_a_keyed_operator_gets_a_number_that_divides_its_substreams():
    keyed = Topology(
        "t", [Source("in"), Operator("source", inputs="in"), Operator("sink", inputs="source", key="k", substreams=10)]
    )
    loop = Loop(topology=keyed)
    assert [loop.turn(500, 0.85, 2000) for _ in range(2)][-1] == (4, 5)


def test_unknown_rates_and_settling_pools_hold():
    loop = Loop()
    loop.turn(500, 0.85, 2000)
    loop.turn(500, 0.85, 2000, settling=["sink"])
    assert [type(each) for each in loop.decisions] == [Hold, Hold]
    silent = Loop()
    for _ in range(3):
        silent.turn(0, 0.85, 2000)
    assert silent.decisions[0].reason == "the true processing rate of source was not measured: hold"


def test_without_any_load_it_scales_in():
    loop = Loop(10, max_scale_down=0.6)
    assert [loop.turn(0, 0.0, 0) for _ in range(2)][-1] == (4, 4)


def test_the_budget_bounds_it():
    loop = Loop(budget=Budget(total=5))
    assert sum([loop.turn(500, 0.85, 2000) for _ in range(2)][-1]) == 5
    assert any(isinstance(each, Scale) for each in loop.decisions)


def test_a_boundary_beyond_the_target_is_refused():
    with pytest.raises(ConfigError, match=r"boundary 0.9 must not be above target_utilisation 0.8"):
        Loop(boundary=0.9)
