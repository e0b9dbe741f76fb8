import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_operator import scenario

from rheostat.experiments.clairvoyant.batch_overhead import batch_bound_s
from rheostat.experiments.clairvoyant.lower_bound import lower_bound
from rheostat.experiments.clairvoyant.schedule import Schedule
from rheostat.experiments.feasibility import OperatorLoads
from rheostat.experiments.simulate import simulate


def batches(fixed="400ms", per_task=0):
    return {"queues": "batches", "batches": {"fixed": fixed, "per_task": per_task}}


def bound_s(tried):
    return batch_bound_s(tried, OperatorLoads(tried.model, tried.duration_s))


def test_the_overhead_of_one_operator():
    """Windows end at 200 s; what arrives until 10 s before is done by then, except for one record."""
    assert bound_s(scenario(200, **batches())) == pytest.approx((2 * 190 - 0.01) * 2 / (2 - 0.4), rel=2e-3)
    assert bound_s(scenario(200)) == pytest.approx(2 * 190 - 0.01, rel=2e-3)


def test_it_counts_in_the_lower_bound():
    tried = scenario(200, **batches())
    assert lower_bound(tried).executor_seconds == bound_s(tried) > lower_bound(scenario(200)).executor_seconds


def test_overheads_that_take_longer_than_the_sla_have_no_bound():
    assert bound_s(scenario(200, **batches("2s"))) == math.inf
    assert lower_bound(scenario(200, **batches("2s"))).executor_seconds is None


@pytest.mark.parametrize("fields", [{"latency": None}, {"capacity": 5}])
def test_it_says_nothing_where_nothing_is_promised_or_records_may_be_lost(fields):
    assert bound_s(scenario(200, **batches(), **fields)) == 0.0


def test_where_the_cost_of_records_changes_no_overhead_is_counted():
    steps = {"shape": "step", "steps": [[0, 1], ["100s", 2]]}
    assert bound_s(scenario(100, cost=steps, **batches())) == pytest.approx(100 + 2 * 90 - 0.02, rel=5e-3)


@settings(deadline=None, max_examples=3000)
@given(
    st.lists(st.tuples(st.floats(0.01, 10), st.floats(0.05, 6)), min_size=1, max_size=20),
    st.floats(0.01, 2),
)
def test_no_sequence_of_batches_of_the_same_mean_length_is_paid_less(sequence, overhead):
    """Batches by their work and how much longer than the overhead they last."""
    works, lengths = np.array([w for w, _ in sequence]), np.array([overhead + extra for _, extra in sequence])
    paid = float(np.sum(works + overhead * works / (lengths - overhead)))
    mean = float(np.average(lengths, weights=works))
    assert paid >= works.sum() * mean / (mean - overhead) * (1 - 1e-9)


@settings(deadline=None, max_examples=2000)
@given(
    st.lists(st.tuples(st.floats(0.1, 100), st.floats(0, 1), st.floats(0.01, 3)), min_size=1, max_size=5),
)
def test_no_other_lengths_along_a_chain_are_cheaper(operators):
    """Operators by work, overhead and how much longer than the overhead their batches last."""
    work, overhead, extra = (np.array(each) for each in zip(*operators, strict=True))
    paid = float(np.sum(work + overhead * work / extra))
    spare = float(extra.sum())
    assert paid >= (work.sum() + np.sqrt(work * overhead).sum() ** 2 / spare) * (1 - 1e-9)


cases = st.tuples(
    st.lists(st.integers(20, 300), min_size=1, max_size=3),
    st.lists(st.integers(1, 8), min_size=1, max_size=4),
    st.sampled_from([50, 200, 500]),
    st.sampled_from([0, 20]),
)


def no_schedule_that_meets_the_sla_pays_less(case):
    """Random sizes every 10 s under a random load, for 40 s, with an SLA of 2 s over 4 s."""
    rates, sizes, fixed, per_task = case
    steps = [[20 * index, rate] for index, rate in enumerate(rates)]
    tried = scenario(
        {"shape": "step", "steps": steps},
        window="4s",
        duration="40s",
        executors=sizes[0],
        total=8,
        **batches(f"{fixed}ms", f"{per_task}ms"),
    )
    schedule = {"work": tuple((10.0 * index, size) for index, size in enumerate(sizes))}
    result = simulate(tried, Schedule, {"sizes": schedule})
    if result.success_rate == 1.0:
        bound = lower_bound(tried).executor_seconds
        assert bound is not None
        assert bound <= result.executor_seconds + 1e-6


@settings(deadline=None, max_examples=100)
@given(cases)
def test_no_schedule_that_meets_the_sla_in_all_windows_pays_less(case):
    no_schedule_that_meets_the_sla_pays_less(case)


@pytest.mark.slow
@settings(deadline=None, max_examples=3000)
@given(cases)
def test_no_schedule_pays_less_in_thousands_of_cases(case):
    no_schedule_that_meets_the_sla_pays_less(case)
