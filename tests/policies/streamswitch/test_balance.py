"""StreamSwitch's load balance and scale-out against all strategies there are, and against what the paper prints."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.policies.streamswitch.model.capacity import Capacity
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Substream
from rheostat.policies.streamswitch.strategies.balance import balance, scale_out
from rheostat.policies.streamswitch.strategies.leaving_order import LeavingSubstreams, leaving_order
from rheostat.policies.streamswitch.strategies.strategy import Strategy


def executor(number, rates, trusted=80, *, first=None, latencies=None, **kind):
    """`rates` are those of its substreams, numbered from `first`; ε is 0.2, so that 80 is 0.8 of 100."""
    start = 100 * number if first is None else first
    latencies = latencies or [0.1] * len(rates)
    substreams = [Substream(start + n, rate, latencies[n]) for n, rate in enumerate(rates)]
    return ExecutorModel.serving(number, Capacity(trusted / 0.8, 0.2, **kind), substreams)


rates = st.lists(st.integers(0, 60), max_size=8)
speeds = st.integers(1, 120)
batch_costs = st.sampled_from([None, 0.25])


@st.composite
def pools(draw, most=5):
    cost = draw(batch_costs)
    count = draw(st.integers(1, most))
    return [
        ExecutorModel.serving(
            number,
            Capacity(draw(speeds), 0.25, cost),
            [
                Substream(10 * number + n, rate, draw(st.sampled_from([None, 0.0, 0.1, 0.2])))
                for n, rate in enumerate(draw(rates))
            ],
        )
        for number in range(count)
    ]


def all_prefixes(source):
    order = leaving_order(source.substreams)
    return [order[:count] for count in range(1, len(order))]


def worst_of(executors):
    return max(each.stress for each in executors)


def outcome(strategy, executors):
    """What a strategy is judged by: the worst of all executors, then the worst of the two."""
    after = strategy.applied(executors)
    return worst_of(after), worst_of([each for each in after if each.id in (strategy.source, strategy.target)])


@given(pools(most=2), speeds, st.integers(0, 60))
def test_the_best_prefix_is_the_best_of_all_prefixes_and_the_shortest_of_those(pool, speed, load):
    source = pool[0]
    target = ExecutorModel(99, Capacity(speed, 0.25, source.capacity.batch_cost_s), load)
    brute = [
        (max(source.without(each.id for each in moved).stress, target.capacity.stress(load + total)), len(moved))
        for moved in all_prefixes(source)
        for total in [sum(each.arrival_rate for each in moved)]
    ]
    assert LeavingSubstreams(source).best_for(target.capacity, load) == min(brute, default=None)


@given(pools())
def test_the_best_balance_is_the_best_of_all_targets_and_prefixes(pool):
    source = max(pool, key=lambda each: each.stress)
    every = [
        (*outcome(strategy, pool), strategy)
        for target in pool
        if target is not source
        for moved in all_prefixes(source)
        for strategy in [Strategy.of(moved, source.id, target.id)]
    ]
    improving = [each for each in every if each[1] < source.stress]
    found = balance(pool, source)
    if found is None:
        assert not improving
    else:
        assert outcome(found, pool) == min(improving, key=lambda each: each[:2])[:2]


@given(pools())
def test_a_balance_never_makes_any_executor_as_bad_as_its_source_was(pool):
    source = max(pool, key=lambda each: each.stress)
    strategy = balance(pool, source)
    if strategy is not None:
        assert outcome(strategy, pool)[1] < source.stress
        assert 0 < len(strategy.substreams) < len(source.substreams)


@given(pools(most=1))
def test_the_best_scale_out_is_the_best_of_all_prefixes(pool):
    [source] = pool
    every = [outcome(Strategy.of(moved, source.id, 7), pool)[0] for moved in all_prefixes(source)]
    improving = [worst for worst in every if worst < source.stress]
    found = scale_out(source, 7)
    assert (found is None) == (not improving)
    if found is not None:
        assert outcome(found, pool)[0] == min(improving)


@given(pools())
def test_what_moves_and_what_stays_are_all_there_is(pool):
    source = max(pool, key=lambda each: each.stress)
    strategy = balance(pool, source) or scale_out(source, 99)
    if strategy is None:
        return
    before = [substream for each in pool for substream in each.substreams]
    after = strategy.applied(pool)
    assert sorted((substream for each in after for substream in each.substreams), key=lambda s: s.id) == sorted(
        before, key=lambda s: s.id
    )


def test_the_substreams_that_suffer_least_go_first_and_those_without_completions_before_them():
    it = executor(0, [30, 30, 30, 30], latencies=[0.4, None, 0.2, 0.3], first=0)
    assert [each.id for each in leaving_order(it.substreams)] == [1, 2, 3, 0]
    assert balance([it, executor(1, [1])], it).substreams == (1, 2)


def test_an_overloaded_source_is_relieved_of_seven_of_fourteen_substreams():
    source = executor(0, [10] * 14, first=0)
    assert len(balance([source, executor(1, [])], source).substreams) == 7


def as_printed(source, target, *, forgetful=False):
    """Algorithm 2 with its `break`: stop as soon as the maximum stops falling; `forgetful` with its λ's = λ^k too."""
    moved, worst = [], max(source.projected_s, target.projected_s)
    for substream in leaving_order(source.substreams):
        moved.append(substream)
        left = source.without(each.id for each in moved).arrival_rate
        left_s = source.capacity.latency_s(substream.arrival_rate if forgetful else left)
        now = max(left_s, target.joined_by(moved).projected_s)
        if now >= worst:
            break
        worst = now
    return moved


def test_the_printed_loop_stops_at_once_when_the_source_is_overloaded():
    source, target = executor(0, [10] * 14, first=0), executor(1, [])
    assert len(as_printed(source, target)) == 1
    assert balance([source, target], source) == Strategy(tuple(range(7)), 0, 1)


def test_the_printed_loop_also_moves_the_substream_that_made_it_worse():
    source, target = executor(0, [30, 30, 15], first=0), executor(1, [10])
    assert len(as_printed(source, target)) == 2
    assert balance([source, target], source).substreams == (0,)


def test_the_printed_assignment_forgets_the_load_that_stays():
    """λ's = λ^k instead of λ's −= λ^k: the source looks as light as the substream that left last."""
    source, target = executor(0, [5] + [14] * 5, first=0), executor(1, [])
    assert len(as_printed(source, target, forgetful=True)) == 2
    assert len(balance([source, target], source).substreams) == 3


def test_a_fast_executor_is_given_more_than_a_slow_one():
    source = executor(0, [10] * 12, first=0)
    slow, fast = executor(1, [], trusted=40), executor(2, [], trusted=160)
    strategy = balance([source, slow, fast], source)
    assert (strategy.target, len(strategy.substreams)) == (2, 10)


def test_two_overloads_are_compared_by_how_much_is_too_much():
    source, other = executor(0, [50] * 6, first=0), executor(1, [100])
    assert source.stress == (math.inf, 220)
    strategy = balance([source, other], source)
    assert outcome(strategy, [source, other])[0] == (math.inf, 120)


def test_nothing_is_moved_when_no_target_is_better_off():
    pool = [executor(0, [40, 38]), executor(1, [40, 38])]
    assert balance(pool, pool[0]) is None


def test_a_single_substream_is_never_moved():
    pool = [executor(0, [200]), executor(1, [])]
    assert balance(pool, pool[0]) is None
    assert scale_out(pool[0], 2) is None


def test_substreams_without_arrivals_do_not_make_a_strategy():
    source = executor(0, [200, 0, 0])
    assert scale_out(source, 2) is None


def test_a_new_executor_is_taken_to_be_as_fast_as_its_source():
    source = executor(0, [10] * 14, trusted=90)
    [left, new] = scale_out(source, 5).applied([source])
    assert (new.id, new.capacity, len(new.substreams)) == (5, source.capacity, 7)
    assert left.projected_s == new.projected_s == pytest.approx(1 / 20)


def test_a_third_executor_that_is_worse_does_not_keep_the_source_from_being_relieved():
    pool = [executor(0, [50, 50]), executor(1, [10]), executor(2, [300])]
    assert balance(pool, pool[0]).target == 1


def test_the_sort_is_the_only_part_that_looks_at_every_substream():
    looks = []

    class Counted(Capacity):
        def stress(self, arrival_rate):
            looks.append(arrival_rate)
            return super().stress(arrival_rate)

    substreams = [Substream(n, 1.0, 0.1) for n in range(4096)]
    source = ExecutorModel.serving(0, Counted(1000.0), substreams)
    pool = [source, *(ExecutorModel.serving(n, Counted(1000.0), []) for n in range(1, 11))]
    assert balance(pool, source) is not None
    assert len(looks) < 10 * 2 * (12 + 4) + 40
