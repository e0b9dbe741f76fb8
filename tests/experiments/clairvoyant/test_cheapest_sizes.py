import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.experiments.clairvoyant.cheapest_sizes import cheapest_sizes, least_cost
from rheostat.experiments.clairvoyant.fluid import FluidModel


def model(arrivals, *, deadline=0, start=0, initial=1, most=4, least=1, per_executor=1):
    return FluidModel(
        arrivals=tuple(arrivals),
        per_executor=per_executor,
        deadline=deadline,
        start=start,
        initial=initial,
        least=least,
        most=most,
    )


@pytest.mark.parametrize(
    ("fields", "cost", "sizes"),
    [
        ({"arrivals": [3] * 10, "initial": 3}, 30, (3,) * 10),
        ({"arrivals": [5] * 10, "initial": 3, "per_executor": 2}, 30, (3,) * 10),
        ({"arrivals": [1, 4, 1, 1], "initial": 1}, 7, (1, 4, 1, 1)),
        ({"arrivals": [1, 4, 1, 1], "initial": 1, "start": 1}, 10, (1, 4, 1, 1)),
        ({"arrivals": [0, 4, 0, 0, 0], "initial": 1, "start": 1, "deadline": 3}, 5, (1,) * 5),
        ({"arrivals": [0, 4, 0, 0, 0], "initial": 1, "start": 1, "deadline": 1}, 8, (1, 2, 2, 1, 1)),
        ({"arrivals": [1, 3], "initial": 1, "most": 2}, None, None),
        ({"arrivals": [3, 3], "initial": 1, "start": 1}, None, None),
        ({"arrivals": [0, 0], "initial": 4}, 2, (1, 1)),
        ({"arrivals": [2, 0, 2], "initial": 2, "start": 3}, 6, (2, 2, 2)),
        ({"arrivals": []}, 0, ()),
    ],
)
def test_cases_that_can_be_computed_by_hand(fields, cost, sizes):
    found = cheapest_sizes(model(**fields))
    assert (found and found.cost) == cost
    if sizes is not None:
        assert found.sizes == sizes


@st.composite
def models(draw, most_slots, most=3, most_work=6):
    return model(
        draw(st.lists(st.integers(0, most_work), max_size=most_slots)),
        deadline=draw(st.integers(0, 3)),
        start=draw(st.integers(0, 3)),
        initial=draw(st.integers(1, most + 1)),
        most=most,
        per_executor=draw(st.integers(1, 3)),
    )


@settings(deadline=None, max_examples=400)
@given(models(6))
def test_no_schedule_of_a_small_case_is_cheaper_and_one_costs_as_much(case):
    tried = itertools.product(range(case.least, case.most + 1), repeat=len(case.arrivals))
    costs = [case.cost(sizes) for sizes in tried if case.is_met(sizes)]
    found = cheapest_sizes(case)
    assert (None if found is None else found.cost) == min(costs, default=None)
    assert least_cost(case) <= min(costs, default=10**9)


@settings(deadline=None, max_examples=2000)
@given(models(30, most=8, most_work=12), st.randoms(use_true_random=False))
def test_it_is_never_above_a_random_schedule_that_is_met(case, random):
    sizes = [random.randint(case.least, case.most) for _ in case.arrivals]
    for slot in range(min(case.start, len(sizes))):
        sizes[slot] = min(sizes[slot], sizes[slot - 1] if slot else case.initial)
    found = cheapest_sizes(case)
    for raised in range(case.most):  # the more executors, the more schedules are met
        tried = [min(case.most, size + raised) if slot >= case.start else size for slot, size in enumerate(sizes)]
        if case.is_met(tried):
            assert found is not None
            assert found.cost <= case.cost(tried)
    if found is not None:
        assert least_cost(case) <= found.cost
        assert case.is_met(found.sizes)
        assert case.cost(found.sizes) == found.cost


@settings(deadline=None, max_examples=200)
@given(models(20, most=5), st.integers(0, 3))
def test_a_later_deadline_and_a_faster_start_never_cost_more(case, later):
    fields = {field: getattr(case, field) for field in case.__struct_fields__}
    easier = FluidModel(**{**fields, "deadline": case.deadline + later, "start": max(0, case.start - later)})
    found, better = cheapest_sizes(case), cheapest_sizes(easier)
    if found is not None:
        assert better is not None
        assert better.cost <= found.cost


def test_the_quick_bound_counts_the_work_that_is_due_and_the_fewest_executors_besides():
    assert least_cost(model([0] * 10 + [12] * 10 + [0] * 10, deadline=2, per_executor=4, most=9)) == 20 + 30 - 2
    assert least_cost(model([3] * 10, deadline=0)) == 30
    assert least_cost(model([3] * 10, deadline=99)) == 10


@pytest.mark.parametrize("wrong", [{"per_executor": 0}, {"deadline": -1}, {"least": 0}, {"least": 3, "most": 2}])
def test_impossible_models_are_refused(wrong):
    with pytest.raises(ConfigError):
        model([1], **wrong)
