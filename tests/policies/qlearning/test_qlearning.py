"""Learned degrees: training, tables and the policy."""

import math

import numpy as np
import pytest

from rheostat.decision import Hold, Scale
from rheostat.errors import ConfigError, TopologyError
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.qlearning.table import LearnedDegrees, read_table, write_table
from rheostat.policies.qlearning.train import Lesson, train
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("one", [Source("in"), Operator("work", inputs="in")])
STEADY = np.repeat([10.0, 50.0, 90.0], 150)


def test_at_steady_rates_it_learns_the_fewest_executors_with_headroom():
    """10 records/s for each executor, of which 80 % count."""
    table = train(STEADY, 10.0, Lesson(most=16))
    assert {rate: table.degree(rate) for rate in (10.0, 50.0, 90.0)} == {
        rate: math.ceil(rate / 8.0) for rate in (10.0, 50.0, 90.0)
    }


def test_the_same_seed_gives_the_same_table():
    rates = np.random.default_rng(1).uniform(0, 100, 300)
    assert train(rates, 10.0, Lesson(most=8), seed=3) == train(rates, 10.0, Lesson(most=8), seed=3)
    assert train(rates, 10.0, Lesson(most=8), seed=3) != train(rates, 10.0, Lesson(most=8), seed=4)


def test_a_level_never_seen_is_taken_for_the_next_higher_one():
    table = LearnedDegrees(10.0, (None, (0.0, 1.0, 0.0), None, (0.0, 0.0, 2.0)))
    assert [table.degree(rate) for rate in (0.0, 15.0, 25.0, 35.0, 900.0)] == [2, 2, 3, 3, 3]


def test_a_level_above_all_that_was_seen_is_taken_for_the_highest():
    assert LearnedDegrees(10.0, ((1.0, 0.0), (0.0, 1.0), None)).degree(25.0) == 2


def test_it_learns_what_the_period_after_will_need():
    table = train([10.0, 90.0] * 150, 10.0, Lesson(most=16))
    assert (table.degree(10.0), table.degree(90.0)) == (math.ceil(90 / 8), math.ceil(10 / 8))


def test_of_equal_values_the_fewest_executors_are_taken():
    assert LearnedDegrees(1.0, ((0.0, 5.0, 5.0),)).degree(0.5) == 2


def test_a_stream_that_teaches_nothing_is_refused():
    with pytest.raises(ConfigError, match="a stream of 1 periods is too short"):
        train([5.0], 10.0, Lesson(most=4))
    with pytest.raises(ConfigError, match="service rate 0"):
        train([5.0, 6.0], 0, Lesson(most=4))
    with pytest.raises(ConfigError, match="at least one level"):
        LearnedDegrees(1.0, (None,))


def test_a_silent_stream_needs_one_executor():
    assert train([0.0] * 50, 10.0, Lesson(most=4)).degree(0.0) == 1


def test_a_table_is_read_as_it_was_written(tmp_path):
    table = {"work": train(STEADY, 10.0, Lesson(most=16))}
    write_table(table, tmp_path / "table.json")
    assert read_table(str(tmp_path / "table.json")) == table
    assert make("table", str(tmp_path / "table.json")).options.table.endswith("table.json")


def test_what_is_no_table_is_refused(tmp_path):
    (tmp_path / "bad.json").write_text('{"work": {"step": -1, "levels": []}}')
    with pytest.raises(ConfigError, match="is not a learned table"):
        read_table(str(tmp_path / "bad.json"))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_table(str(tmp_path / "missing.json"))
    with pytest.raises(ConfigError, match="needs the option 'table'"):
        make_policy("q-learning", Goal(TOPOLOGY), {})
    with pytest.raises(TopologyError, match="no operator 'other'"):
        make("table", {"other": {"step": 1, "levels": [[1]]}})


def make(option, value, budget=None):
    return make_policy("q-learning", Goal(TOPOLOGY, (), budget or Budget()), {option: value})


TABLE = {"work": {"step": 10.0, "levels": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}}


def decide(rate, size=1, settling=(), budget=None):
    measures = Measures(10.0, {"work": OperatorMeasures(arrival_rate=rate)})
    plan = Plan.initial(TOPOLOGY, size)
    policy = make("table", TABLE, budget)
    [decision] = policy.decide(Observation(Snapshot(10.0, ()), measures, plan, frozenset(settling), policy.goal.budget))
    return decision


def test_it_gives_the_degree_that_was_learned_for_the_rate():
    decided = decide(25.0)
    assert isinstance(decided, Scale)
    assert decided.executors == 3
    assert decided.reason == "input 25 records/s, 3 executors by the table: scale out 1 -> 3"
    assert isinstance(decide(15.0, size=2), Hold)


def test_it_holds_while_a_change_settles_or_the_rate_is_not_known():
    assert decide(25.0, settling=["work"]).reason == "settling after the last action: hold"
    assert decide(None).reason == "the input rate of 'work' was not measured: hold"


def test_bounds_limit_it():
    assert decide(25.0, budget=Budget(most={"work": 2})).executors == 2
    assert isinstance(decide(5.0, size=2, budget=Budget(least={"work": 2})), Hold)


def test_operators_that_share_a_pool_need_what_both_learned():
    topology = Topology("two", [Source("in"), Operator("work", inputs="in"), Operator("rest", inputs="work")])
    plan = Plan.initial(topology, 1, shared=[("work", "rest")])
    measures = Measures(10.0, dict.fromkeys(("work", "rest"), OperatorMeasures(arrival_rate=25.0)))
    policy = make_policy("q-learning", Goal(topology), {"table": {**TABLE, "rest": TABLE["work"]}})
    [decision] = policy.decide(Observation(Snapshot(10.0, ()), measures, plan, budget=policy.goal.budget))
    assert decision.executors == 6
