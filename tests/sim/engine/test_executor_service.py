"""Service: its distributions, what the value of a record costs, and how records find an executor."""

import math

import numpy as np
import pytest
from intervals import interval
from plants import executor_row, fixed, one_operator, plant, realise, row
from scipy import stats

from rheostat.decision import Regroup
from rheostat.errors import ConfigError, PlantError
from rheostat.load.skew import zipf
from rheostat.plan import Plan
from rheostat.sim.model import ClusterModel, NodeModel, OperatorModel, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant
from rheostat.topology import Operator, Source, Topology

UNLIKELY = 1e-5


def moments(it, batches=20, seconds=500.0):
    """Intervals for the mean and for the squared coefficient of variation of the service time."""
    last, means, variations = np.zeros(3), [], []
    for _ in range(batches):
        it.cluster.advance(it.cluster.now_s + seconds)
        now = np.array([row(it).service_count, row(it).service_sum, row(it).service_squares], dtype=float)
        count, total, squares = now - last
        means.append(total / count)
        variations.append(squares / count / (total / count) ** 2 - 1)
        last = now
    return interval(means), interval(variations)


@pytest.mark.parametrize(
    ("service", "scv"),
    [
        (Service(mean="2ms", distribution="exponential"), 1.0),
        (Service(mean="2ms", distribution="lognormal", scv=0.3), 0.3),
        (Service(mean="2ms", distribution="lognormal", scv=2.0), 2.0),
        (Service(mean="2ms", distribution="uniform"), 1 / 3),
        (Service(mean="2ms", distribution="uniform", spread=0.5), 1 / 12),
    ],
)
def test_service_times_have_their_mean_and_variation(service, scv):
    mean, variation = moments(plant(one_operator(), OperatorModel(service=service), rate=100.0))
    assert 0.002 in mean
    assert mean.relative < 0.02
    assert scv in variation
    assert variation.relative < 0.15


def test_fixed_service_times_do_not_vary():
    it = plant(one_operator(), fixed(0.002), rate=100.0)
    it.cluster.advance(100.0)
    assert row(it).service_squares == pytest.approx(row(it).service_count * 0.002**2)


def test_a_record_costs_what_its_value_costs():
    weights = zipf(5, 1.0)
    costs = (1.0, 0.0, 10.0, 2.0, 0.5)
    service = Service(mean="1ms", distribution="fixed", cost_by_value=costs)
    mean, _ = moments(plant(one_operator(), OperatorModel(service=service), rate=100.0, weights=weights))
    assert float(weights @ costs) * 0.001 in mean
    assert mean.relative < 0.03


def test_costs_that_do_not_cover_all_values_are_refused():
    model = OperatorModel(service=Service(cost_by_value=(1.0, 2.0)))
    with pytest.raises(ConfigError, match="operator 'op': cost_by_value has 2 entries, but values go up to 4: give 5"):
        plant(one_operator(), model, weights=np.ones(5))


def test_an_operator_can_give_its_records_values_of_their_own():
    topology = Topology("two", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a", key="k")])
    weights = zipf(16, 1.0)
    free = fixed(1e-6)
    model = SimModel(topology, {"in": SourceModel(scv=0.0)}, {"a": free, "b": free}, values={"a": weights})
    it = SimPlant(model, np.random.default_rng(1))
    it.cluster.advance(1000.0)
    found = it.cluster.state.substreams.arrived
    expected = weights * found.sum()
    assert stats.chi2.sf(((found - expected) ** 2 / expected).sum(), 15) > UNLIKELY


def served(it, executors):
    return np.array([int(executor_row(it, number).arrived) for number in range(executors)])


def test_records_go_to_executors_in_turn_at_random_or_by_value():
    it = plant(one_operator(), fixed(1e-4, executors=4), rate=1000.0, weights=[5, 1, 1, 1, 1])
    plan = Plan.initial(it.topology, 4)
    it.cluster.advance(100.0)
    in_turn = served(it, 4)
    assert in_turn.max() - in_turn.min() <= 1

    plan = plan.after(Regroup(operator="op", reason="test", grouping="random"))
    it.apply(plan)
    it.cluster.advance(200.0)
    at_random = served(it, 4) - in_turn
    assert stats.chisquare(at_random).pvalue > UNLIKELY
    assert at_random.max() - at_random.min() > 1

    plan = plan.after(Regroup(operator="op", reason="test", grouping="key"))
    it.apply(plan)
    it.cluster.advance(300.0)
    by_value = served(it, 4) - in_turn - at_random
    expected = np.array([6, 1, 1, 1]) / 9 * by_value.sum()
    assert stats.chi2.sf(((by_value - expected) ** 2 / expected).sum(), 3) > UNLIKELY
    assert it.observe().operators["op"].grouping == "key"


def test_a_grouping_that_does_not_exist_is_refused():
    it = plant(one_operator())
    plan = Plan.initial(it.topology).after(Regroup(operator="op", reason="test", grouping="rondom"))
    with pytest.raises(PlantError, match="the simulator has no grouping 'rondom'; did you mean 'random'"):
        it.apply(plan)


def test_faster_executors_of_a_shared_queue_serve_more():
    nodes = (NodeModel(name="slow", slots=1, speed=1.0), NodeModel(name="fast", slots=1, speed=3.0))
    it = plant(
        one_operator(), fixed(0.01, executors=2, queues="shared"), rate=1000.0, cluster=ClusterModel(nodes=nodes)
    )
    it.cluster.advance(10.0)
    slow, fast = served(it, 2)
    assert fast == pytest.approx(3 * slow, rel=0.02)


def test_a_value_by_itself_decides_the_substream():
    topology = Topology("keyed", [Source("in"), Operator("op", inputs="in", key="k", substreams=3)])
    it = plant(topology, fixed(1e-6), rate=1000.0, weights=np.ones(10))
    it.cluster.advance(100.0)
    found = it.cluster.state.substreams.arrived
    expected = np.array([4, 3, 3]) / 10 * found.sum()
    assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected))
    assert math.isclose(found.sum(), row(it).arrived)


def test_realising_a_plan_that_is_real_changes_nothing():
    it = plant(one_operator(), fixed(0.001, executors=2))
    realise(it, Plan.initial(it.topology, 2))
    assert it.cluster.now_s == 0.0
