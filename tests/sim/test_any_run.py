"""What holds in every run: nothing is lost or doubled, order is kept, and equal seeds give equal runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import LOAD_S, History, check_everything, happenings, plans, sim_models

from rheostat.sim.plant import SimPlant


@st.composite
def histories(draw):
    model = draw(sim_models())
    plan = draw(plans(model.topology))
    return model, plan, draw(happenings(model.topology)), draw(st.integers(0, 2**32))


def begin(model, plan, seed):
    return History(SimPlant(model, np.random.default_rng(seed), plan), plan)


def tell(history, events):
    for happen in events:
        happen(history)


def fingerprint(plant):
    """Everything that was counted or summed, and what is where."""
    state = plant.cluster.state
    tables = (state.world, state.operators, state.substreams, state.edges, state.histogram, state.chance)
    return [table.tolist() for table in tables]


@settings(max_examples=150)
@given(histories())
def test_nothing_is_lost_or_doubled_and_order_is_kept_whatever_happens(told):
    model, plan, events, seed = told
    history = begin(model, plan, seed)
    for happen in events:
        happen(history)
        check_everything(history.plant, history.plan)


@settings(max_examples=60)
@given(histories())
def test_everything_that_entered_leaves_in_the_end(told):
    model, plan, events, seed = told
    history = begin(model, plan, seed)
    tell(history, events)
    world = history.plant.cluster.state.world
    history.advance(LOAD_S)
    for _ in range(400):
        history.apply()
        history.advance(2.0)
        if world[0].entered == world[0].left + world[0].lost:
            break
    check_everything(history.plant, history.plan)
    assert world[0].entered == world[0].left + world[0].lost


@settings(max_examples=40)
@given(histories())
def test_equal_seeds_give_equal_runs(told):
    model, plan, events, seed = told
    one, other = begin(model, plan, seed), begin(model, plan, seed)
    tell(one, events)
    tell(other, events)
    assert fingerprint(one.plant) == fingerprint(other.plant)


@settings(max_examples=40)
@given(histories(), st.lists(st.floats(0.001, 0.999), max_size=20))
def test_a_run_does_not_depend_on_the_steps_in_which_it_is_made(told, cuts):
    model, plan, events, seed = told
    one, other = begin(model, plan, seed), begin(model, plan, seed)
    tell(one, events)
    tell(other, events)
    start_s = one.plant.cluster.now_s
    one.plant.cluster.advance(start_s + 10.0)
    for cut in [*sorted(cuts), 1.0]:
        other.plant.cluster.advance(start_s + 10.0 * cut)
    assert fingerprint(one.plant) == fingerprint(other.plant)
    paid = [sum(each.plant.cluster.registry.seconds.values()) for each in (one, other)]
    assert paid[0] == pytest.approx(paid[1])


@settings(max_examples=40)
@given(histories())
def test_counters_that_a_snapshot_shows_never_fall(told):
    model, plan, events, seed = told
    history = begin(model, plan, seed)
    last = history.plant.observe()
    for happen in events:
        happen(history)
        seen = history.plant.observe()
        for now, before in zip(seen.operator_states, last.operator_states, strict=True):
            assert now.arrived >= before.arrived
            assert now.completed >= before.completed
            assert now.lost >= before.lost
            assert now.busy_s >= before.busy_s - 1e-9
        known = {(each.pool, each.id): each for each in last.executors}
        for executor in seen.executors:
            before = known.get((executor.pool, executor.id))
            if before is not None:
                assert executor.arrived >= before.arrived
                assert executor.completed >= before.completed
                assert executor.busy_s >= before.busy_s - 1e-9
        last = seen
