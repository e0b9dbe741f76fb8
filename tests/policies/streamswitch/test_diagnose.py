"""StreamSwitch's health, best scale-in and two-level logic, against brute force and the properties of the paper."""

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.policies.streamswitch.diagnose.even import diagnose_evenly
from rheostat.policies.streamswitch.diagnose.keyed import ActionKind, SizeLimits, diagnose
from rheostat.policies.streamswitch.model.capacity import Capacity
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Health, Substream, Thresholds
from rheostat.policies.streamswitch.strategies.scale_in import scale_in
from rheostat.policies.streamswitch.strategies.strategy import Strategy

LIMITS = Thresholds(alert_s=0.1, latency_s=1.0)
ROOM = SizeLimits(new=50)


def executor(number, rates, trusted=80.0, latency_s=0.01):
    substreams = [Substream(100 * number + n, float(rate), 0.1) for n, rate in enumerate(rates)]
    return ExecutorModel.serving(number, Capacity(trusted / 0.8, 0.2), substreams, latency_s)


@st.composite
def pools(draw, least=1, most=6):
    cost, rates = draw(st.sampled_from([None, 0.25])), st.lists(st.integers(0, 40), max_size=4)
    return [
        ExecutorModel.serving(
            number,
            Capacity(draw(st.sampled_from([20, 40, 100])), 0.2, cost),
            [Substream(10 * number + n, rate, 0.1) for n, rate in enumerate(draw(rates))],
            draw(st.sampled_from([0.01, 0.1, 0.11, 2.0])),
        )
        for number in range(draw(st.integers(least, most)))
    ]


def test_the_example_of_the_paper_projects_one_second():
    assert Capacity(2000, 0.1).latency_s(1799) == pytest.approx(1.0)


def test_without_arrivals_there_is_no_latency_and_without_room_there_is_no_end_to_it():
    it = Capacity(100, 0.2)
    assert (it.latency_s(0), it.latency_s(80), it.latency_s(90)) == (0, math.inf, math.inf)
    assert it.stress(90) == (math.inf, pytest.approx(10))


def test_on_a_micro_batch_engine_it_is_one_and_a_half_batches():
    it = Capacity(100, 0.2, batch_cost_s=0.2)
    assert it.latency_s(0) == pytest.approx(0.3)
    assert it.latency_s(40) == pytest.approx(1.5 * 0.2 / (1 - 40 / 80))
    assert it.latency_s(80) == math.inf


@pytest.mark.parametrize(
    ("latency_s", "rate", "health"),
    [
        (0.1, 79, Health.GOOD),  # on both thresholds
        (0.11, 79, Health.MODERATE),
        (0.1, 79.5, Health.MODERATE),
        (0.11, 79.5, Health.SEVERE),
        (5.0, 200, Health.SEVERE),
    ],
)
def test_an_executor_is_severe_only_if_both_thresholds_are_exceeded(latency_s, rate, health):
    assert LIMITS.health(executor(0, [rate], latency_s=latency_s)) is health


def test_an_operator_is_as_bad_as_its_worst_executor():
    good, moderate, severe = executor(0, [1]), executor(1, [1], latency_s=1), executor(2, [99], latency_s=1)
    assert LIMITS.overall([good, good]) is Health.GOOD
    assert LIMITS.overall([good, moderate]) is Health.MODERATE
    assert LIMITS.overall([good, moderate, severe]) is Health.SEVERE


def remaining(pool, source, target):
    """The projected latencies of the executors that would remain, in descending order."""
    after = Strategy.of(source.substreams, source.id, target.id, source_leaves=True).applied(pool)
    return sorted((each.projected_s for each in after), reverse=True)


@given(pools(least=2))
def test_the_best_scale_in_is_the_first_of_the_best_of_all_pairs(pool):
    best = min(permutations(pool, 2), key=lambda pair: remaining(pool, *pair))
    found = scale_in(pool)
    assert (found.source, found.target) == (best[0].id, best[1].id)
    assert found.source_leaves


def test_the_load_of_the_one_that_stays_is_that_of_both():
    """With 2·λ_d, as the published code has it, 1 would seem to have room for all that 0 serves."""
    pool = [executor(0, [70]), executor(1, [10])]
    assert pool[1].capacity.latency_s(2 * pool[1].arrival_rate) < LIMITS.latency_s
    assert remaining(pool, *pool) == [math.inf]
    assert diagnose(pool, LIMITS, ROOM).action is ActionKind.HOLD


def test_the_slow_executor_is_the_one_that_goes():
    pool = [executor(0, [10]), executor(1, [10], trusted=20), executor(2, [10])]
    found = diagnose(pool, LIMITS, ROOM)
    assert (found.action, found.strategy) == (ActionKind.SCALE_IN, Strategy((100,), 1, 0, source_leaves=True))


def test_an_executor_without_substreams_goes_first():
    assert scale_in([executor(0, []), executor(1, [30]), executor(2, [30])]) == Strategy((), 0, 1, source_leaves=True)


@given(pools())
def test_nothing_is_relieved_unless_a_measured_latency_is_above_the_alert(pool):
    if diagnose(pool, LIMITS, ROOM).action in (ActionKind.REBALANCE, ActionKind.SCALE_OUT):
        assert any(each.latency_s > LIMITS.alert_s for each in pool)


@given(pools())
def test_nothing_is_saved_unless_every_executor_has_room(pool):
    found = diagnose(pool, LIMITS, ROOM)
    if found.action is ActionKind.SCALE_IN and found.health is Health.GOOD:
        assert all(
            each.arrival_rate < each.capacity.trusted_rate for each in pool if each not in found.overloaded_by_one
        )
        assert LIMITS.overall(each for each in found.after if each not in found.overloaded_by_one) is Health.GOOD


@given(pools())
def test_a_moderate_operator_is_left_alone(pool):
    if LIMITS.overall(pool) is Health.MODERATE:
        assert diagnose(pool, LIMITS, ROOM).action is ActionKind.HOLD


@given(pools())
def test_every_substream_is_on_exactly_one_executor_after_any_treatment(pool):
    found = diagnose(pool, LIMITS, ROOM)
    before = sorted(each.id for executor in pool for each in executor.substreams)
    assert sorted(each.id for executor in found.after for each in executor.substreams) == before
    numbers = [each.id for each in found.after]
    assert len(numbers) == len(set(numbers)) >= 1


@given(pools())
def test_no_treatment_only_replaces_an_executor(pool):
    found = diagnose(pool, LIMITS, ROOM)
    if found.action is ActionKind.SCALE_OUT:
        source = next(each for each in pool if each.id == found.strategy.source)
        assert 0 < len(found.strategy.substreams) < len(source.substreams)
        assert found.strategy.target == 50


@given(pools())
def test_bounds_are_kept(pool):
    found = diagnose(pool, LIMITS, SizeLimits(new=50, more=False, fewer=False))
    assert {each.id for each in found.after} == {each.id for each in pool}


def test_a_load_balance_that_cures_is_preferred_to_a_further_executor():
    found = diagnose([executor(0, [30, 30, 30], latency_s=2), executor(1, [10])], LIMITS, ROOM)
    assert (found.action, found.strategy) == (ActionKind.REBALANCE, Strategy((0,), 0, 1))


def test_a_load_balance_that_leaves_the_operator_severe_gives_way_to_a_scale_out():
    found = diagnose([executor(0, [30] * 6, latency_s=2), executor(1, [60])], LIMITS, ROOM)
    assert (found.action, found.strategy) == (ActionKind.SCALE_OUT, Strategy((0, 1, 2), 0, 50))


def test_of_several_severe_executors_the_one_with_the_largest_projection_is_relieved():
    pool = [executor(0, [45, 45], latency_s=2), executor(1, [60, 60], latency_s=0.2), executor(2, [1])]
    assert diagnose(pool, LIMITS, ROOM).strategy.source == 1


def test_without_room_for_another_executor_the_best_balance_must_do():
    found = diagnose([executor(0, [30] * 6, latency_s=2), executor(1, [60])], LIMITS, SizeLimits(50, more=False))
    assert found.action is ActionKind.REBALANCE
    assert found.note == "one more executor is needed but not allowed"


def test_a_substream_that_is_too_heavy_keeps_its_place_and_its_neighbours_leave():
    pool = [executor(0, [10, 100, 10], latency_s=2), executor(1, [10]), executor(2, [70])]
    found = diagnose(pool, LIMITS, ROOM)
    assert (found.action, found.strategy) == (ActionKind.REBALANCE, Strategy((0, 2), 0, 1))


def test_its_neighbours_get_a_new_executor_when_nobody_has_room_for_them():
    pool = [executor(0, [10, 100, 10], latency_s=2), executor(1, [78])]
    found = diagnose(pool, LIMITS, ROOM)
    assert (found.action, found.strategy) == (ActionKind.SCALE_OUT, Strategy((0, 2), 0, 50))


def test_two_substreams_that_are_too_heavy_are_parted():
    found = diagnose([executor(0, [100, 90], latency_s=2)], LIMITS, ROOM)
    assert (found.action, found.strategy) == (ActionKind.SCALE_OUT, Strategy((1,), 0, 50))


def test_once_it_is_alone_its_executor_is_left_out_and_the_others_are_treated_as_usual():
    lost = executor(0, [100, 0], latency_s=9)
    saved = diagnose([lost, executor(1, [10]), executor(2, [10])], LIMITS, ROOM)
    assert (saved.action, saved.strategy.source, saved.overloaded_by_one) == (ActionKind.SCALE_IN, 1, (lost,))
    relieved = diagnose([lost, executor(1, [50, 50], latency_s=2), executor(2, [10])], LIMITS, ROOM)
    assert (relieved.action, relieved.strategy) == (ActionKind.REBALANCE, Strategy((100,), 1, 2))
    nothing = diagnose([lost], LIMITS, ROOM)
    assert (nothing.action, nothing.overloaded_by_one) == (ActionKind.HOLD, (lost,))


def test_nothing_moves_to_an_executor_that_cannot_be_helped():
    lost = executor(0, [100], latency_s=9)
    found = diagnose([lost, executor(1, [50, 50], latency_s=2)], LIMITS, ROOM)
    assert (found.action, found.strategy.target) == (ActionKind.SCALE_OUT, 50)


def test_a_slow_executor_leaves_its_only_substream_to_a_fast_one():
    pool = [executor(0, [50], trusted=40, latency_s=2), executor(1, [10])]
    found = diagnose(pool, LIMITS, ROOM)
    assert (found.action, found.strategy) == (ActionKind.SCALE_IN, Strategy((0,), 0, 1, source_leaves=True))


def even(rates, speeds=None, latency_s=0.01, cost_s=None):
    speeds = speeds or [100] * len(rates)
    return [ExecutorModel(n, Capacity(speeds[n], 0.2, cost_s), float(rate), latency_s) for n, rate in enumerate(rates)]


def one_by_one(executors):
    return None


def test_an_even_load_is_shared_by_one_more_executor():
    found = diagnose_evenly(even([90, 90], latency_s=2), LIMITS, ROOM, one_by_one)
    assert found.action is ActionKind.SCALE_OUT
    assert [(each.id, each.arrival_rate) for each in found.after] == [(0, 60), (1, 60), (50, 60)]


def test_the_slowest_executor_of_an_even_load_leaves_if_the_rest_stays_good():
    pool = even([20, 20, 20], [100, 50, 100])
    found = diagnose_evenly(pool, LIMITS, ROOM, one_by_one)
    assert (found.action, [each.id for each in found.after]) == (ActionKind.SCALE_IN, [0, 2])
    assert diagnose_evenly(even([60, 60]), LIMITS, ROOM, one_by_one).action is ActionKind.HOLD


def test_a_further_executor_that_makes_batches_longer_is_not_added():
    pool = even([1, 1], latency_s=9, cost_s=1.0)
    found = diagnose_evenly(pool, LIMITS, ROOM, lambda executors: executors / 2)
    assert (found.action, found.note) == (ActionKind.HOLD, "one more executor would not help")
