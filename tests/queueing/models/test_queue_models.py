"""Each model against its formula, and all of them against the shape that allocation relies on."""

import math
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.queueing.models.gigk import GIGk, mmk
from rheostat.queueing.models.microbatch import MicroBatch, fitted_cost_s
from rheostat.queueing.models.mixed_speeds import MixedSpeeds
from rheostat.queueing.models.split_mm1 import SplitMM1, mm1, projected_latency_s

RATES = st.floats(0.01, 50.0)
COSTS = st.floats(0.001, 2.0)
MODELS = st.one_of(
    st.builds(mmk, RATES, st.floats(0.5, 10.0)),
    st.builds(GIGk, RATES, st.floats(0.5, 10.0), st.floats(0.0, 4.0), st.floats(0.1, 4.0)),
    st.builds(SplitMM1, RATES, st.floats(0.5, 10.0), st.floats(0.0, 0.6)),
    st.builds(MicroBatch, RATES, st.floats(0.5, 10.0), COSTS),
    st.builds(MicroBatch, RATES, st.floats(0.5, 10.0), st.just(0.0), COSTS),
    st.builds(MicroBatch, RATES, st.floats(0.5, 10.0), COSTS, COSTS),
    st.builds(MicroBatch, RATES, st.floats(0.5, 10.0), COSTS, COSTS, st.integers(110, 120)),
)


def sojourns(model):
    """The sojourn times with the first dozen numbers of executors that keep up and help."""
    fewest = int(model.fewest())
    return [model.sojourn_s(k) for k in range(fewest, int(min(model.best(), fewest + 12)) + 1)]


class TestMMk:
    def test_drs_example_of_three_executors_follows_eq_1_to_3(self):
        # λ = 10, μ = 4, k = 3: a = 2.5, Erlang C = 0.7022471910…, E[Q] = C/(kμ − λ)
        assert mmk(10, 4).sojourn_s(3) == pytest.approx(125 / 178 / 2 + 0.25, rel=1e-14)

    def test_one_executor_is_the_textbook_queue(self):
        assert mmk(3, 4).sojourn_s(1) == pytest.approx(1.0, rel=1e-14)

    def test_executors_that_cannot_keep_up_take_for_ever(self):
        assert mmk(8, 4).sojourn_s(2) == math.inf
        assert mmk(8, 4).fewest() == 3

    def test_a_load_that_is_whole_but_for_rounding_counts_as_whole(self):
        assert 0.3 / 0.1 < 3
        assert mmk(0.3, 0.1).fewest() == 4
        assert mmk(0.3, 0.1).sojourn_s(3) == math.inf

    def test_without_arrivals_one_executor_serves_undelayed_and_no_more_help(self):
        idle = mmk(0, 4)
        assert (idle.fewest(), idle.best(), idle.sojourn_s(1)) == (1, 1, 0.25)

    @pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
    def test_an_impossible_arrival_rate_is_refused_with_its_value(self, rate):
        with pytest.raises(ConfigError, match=f"arrival rate {rate}"):
            mmk(rate, 1)

    @pytest.mark.parametrize("rate", [-1.0, 0.0, math.nan, math.inf])
    def test_an_impossible_service_rate_is_refused_with_its_value(self, rate):
        with pytest.raises(ConfigError, match=f"service rate {rate}"):
            mmk(1, rate)

    def test_a_service_rate_too_low_for_any_number_of_executors_is_refused(self):
        with pytest.raises(ConfigError, match="service rate 1e-308 is too low for the arrival rate 10"):
            mmk(10, 1e-308)


class TestGIGk:
    def test_eq_5_stretches_the_queueing_delay_by_the_mean_of_both_variations(self):
        plain = mmk(10, 4).sojourn_s(3) - 0.25
        assert GIGk(10, 4, 0.5, 2.5).sojourn_s(3) == pytest.approx(1.5 * plain + 0.25, rel=1e-14)

    def test_one_executor_with_poisson_arrivals_is_pollaczek_and_khinchine(self):
        # M/D/1: E[Q] = ρ/(2μ(1−ρ))
        assert GIGk(3, 4, 1, 0).sojourn_s(1) == pytest.approx(0.75 / (2 * 4 * 0.25) + 0.25, rel=1e-14)

    def test_without_any_variation_nobody_waits_and_no_further_executor_helps(self):
        clockwork = GIGk(10, 4, 0, 0)
        assert clockwork.sojourn_s(3) == 0.25
        assert clockwork.best() == clockwork.fewest() == 3

    def test_a_negative_variation_is_refused_with_its_value(self):
        with pytest.raises(ConfigError, match=r"service SCV -0\.5"):
            GIGk(1, 2, 1, -0.5)


class TestSplitMM1:
    def test_the_example_of_streamswitch_4_2_is_one_second(self):
        assert projected_latency_s(1799, 2000, margin=0.1) == 1.0

    def test_an_executor_without_arrivals_has_no_latency_and_one_at_its_margin_an_endless_one(self):
        assert projected_latency_s(0, 2000, 0.1) == 0.0
        assert projected_latency_s(1800, 2000, 0.1) == projected_latency_s(1900, 2000, 0.1) == math.inf

    def test_k_executors_share_the_arrivals_evenly(self):
        assert SplitMM1(3598, 2000, margin=0.1).sojourn_s(2) == 1.0

    def test_without_a_margin_one_executor_is_m_m_1(self):
        assert mm1(3, 4).sojourn_s(1) == mmk(3, 4).sojourn_s(1)

    def test_the_margin_counts_for_the_fewest_executors_but_not_for_the_utilisation(self):
        model = SplitMM1(3900, 2000, margin=0.1)
        assert model.fewest() == 3
        assert model.utilisation(3) == pytest.approx(0.65)

    @pytest.mark.parametrize("margin", [-0.1, 1.0, math.nan])
    def test_an_impossible_margin_is_refused_with_its_value(self, margin):
        with pytest.raises(ConfigError, match=f"margin {margin}"):
            SplitMM1(1, 2, margin)


class TestMicroBatch:
    def test_a_batch_settles_at_its_cost_over_what_is_left_of_the_time(self):
        model = MicroBatch(400, 200, fixed_s=0.2)
        assert model.batch_s(4) == pytest.approx(0.4)
        assert model.sojourn_s(4) == pytest.approx(0.6)

    def test_the_duration_is_the_fixed_point_of_what_arrives_while_a_batch_runs(self):
        model = MicroBatch(400, 200, fixed_s=0.1, per_task_s=0.02)
        duration_s = 1.0
        for _ in range(200):
            duration_s = model.cost_s(6) + 400 * duration_s / 200 / 6
        assert model.batch_s(6) == pytest.approx(duration_s, rel=1e-12)

    def test_with_a_task_for_each_executor_the_cost_grows_with_them(self):
        assert MicroBatch(400, 200, 0.1, 0.02).cost_s(6) == pytest.approx(0.22)

    def test_with_fixed_tasks_the_cost_does_not_depend_on_the_executors(self):
        model = MicroBatch(400, 200, 0.1, 0.02, tasks=16)
        assert model.cost_s(3) == model.cost_s(16) == pytest.approx(0.42)

    def test_what_tasks_cost_beside_their_work_is_shared_by_the_executors(self):
        model = MicroBatch(400, 200, 0.1, shared_s=0.6)
        assert model.cost_s(3) == pytest.approx(0.3)
        assert MicroBatch(400, 200, 0.1, tasks=4, shared_s=0.6).cost_s(12) == pytest.approx(0.25)

    @given(RATES, st.floats(0.5, 10.0), COSTS, COSTS, COSTS)
    def test_each_step_of_the_hyperbola_is_the_difference_of_two_sojourn_times(self, rate, service, c0, c1, shared):
        model = MicroBatch(rate, service, c0, c1, shared_s=shared)
        first = int(model.fewest()) + 1
        steps = islice(model.changes(first), 5)
        sojourns = [rate * model.sojourn_s(first + n) for n in range(6)]
        assert list(steps) == pytest.approx([b - a for a, b in pairwise(sojourns)], rel=1e-6, abs=1e-9)

    def test_executors_beyond_the_fixed_tasks_have_nothing_to_do(self):
        model = MicroBatch(400, 200, 0.1, 0.02, tasks=16)
        assert model.sojourn_s(17) == model.sojourn_s(16)
        assert model.best() == 16

    def test_tasks_that_cannot_carry_the_load_never_keep_up(self):
        model = MicroBatch(400, 200, 0.1, tasks=2)
        assert model.fewest() == math.inf
        assert model.sojourn_s(100) == math.inf

    @given(RATES, st.floats(0.5, 10.0), COSTS, COSTS)
    def test_the_best_number_is_next_to_the_k_star_of_the_continuous_formula(self, rate, service, c0, c1):
        model = MicroBatch(rate, service, c0, c1)
        load = rate / service
        k_star = load + math.sqrt(load**2 + c0 * load / c1)
        assert model.best() in {max(math.floor(k_star), model.fewest()), max(math.ceil(k_star), model.fewest())}

    @pytest.mark.parametrize(("fixed_s", "per_task_s"), [(-0.1, 0.0), (0.1, -0.1), (math.inf, 0.0), (math.nan, 0.1)])
    def test_impossible_costs_are_refused_with_their_values(self, fixed_s, per_task_s):
        with pytest.raises(ConfigError, match=f"{fixed_s} s .* {per_task_s} s"):
            MicroBatch(1, 2, fixed_s, per_task_s)

    def test_a_batch_that_costs_nothing_is_refused(self):
        with pytest.raises(ConfigError, match="without any cost"):
            MicroBatch(1, 2)

    def test_a_batch_without_tasks_is_refused(self):
        with pytest.raises(ConfigError, match="0 tasks"):
            MicroBatch(1, 2, 0.1, tasks=0)


class TestFittedCost:
    def test_costs_on_a_line_are_found_exactly(self):
        tasks, utilisation = [2, 4, 8], [0.5, 0.25, 0.8]
        batches = [(0.1 + 0.02 * n) / (1 - rho) for n, rho in zip(tasks, utilisation, strict=True)]
        assert fitted_cost_s(tasks, batches, utilisation) == pytest.approx((0.1, 0.02))

    def test_the_measured_batches_on_two_cores_cost_about_fifty_milliseconds_a_task_and_nothing_else(self):
        tasks = [3, 4, 6, 10]
        c0, c1 = fitted_cost_s(tasks, [0.47, 0.41, 0.35, 0.60], [2 / k for k in tasks])
        assert c0 == pytest.approx(0.0, abs=0.01)
        assert c1 == pytest.approx(0.046, abs=0.003)

    def test_neither_part_of_the_cost_is_ever_negative(self):
        assert fitted_cost_s([1, 2], [0.4, 0.2], [0, 0]) == (pytest.approx(0.3), 0.0)
        assert fitted_cost_s([1, 2], [0.1, 0.5], [0, 0]) == (0.0, pytest.approx(1.1 / 5))

    def test_a_single_batch_gives_a_fixed_cost(self):
        assert fitted_cost_s([4], [0.4], [0.5]) == (pytest.approx(0.2), 0.0)

    def test_no_batch_at_all_is_refused(self):
        with pytest.raises(ConfigError, match="0 task counts for 0 batches"):
            fitted_cost_s([], [], [])


class TestMixed:
    def test_k_executors_serve_at_the_sum_of_their_rates(self):
        model = MixedSpeeds(mmk(10, 4), (2.0, 0.5, 0.5))
        assert model.sojourn_s(3) == mmk(10, 4).sojourn_s(3)
        assert model.sojourn_s(2) == mmk(10, 5).sojourn_s(2)
        assert model.utilisation(2) == pytest.approx(1.0)

    def test_executors_beyond_the_known_ones_are_like_their_mean(self):
        assert MixedSpeeds(mmk(10, 4), (1.0, 2.0)).sojourn_s(5) == mmk(10, 6).sojourn_s(5)

    def test_the_fewest_that_keep_up_depend_on_who_joins_first(self):
        assert MixedSpeeds(mmk(10, 4), (3.0, 0.5, 0.5)).fewest() == 1
        assert MixedSpeeds(mmk(10, 4), (0.5, 0.5, 3.0)).fewest() == 3
        assert MixedSpeeds(mmk(100, 4), (1.5, 0.5)).fewest() == 26

    def test_a_slow_executor_can_do_harm(self):
        model = MixedSpeeds(mmk(1, 4), (1.0, 0.1))
        assert model.sojourn_s(2) > model.sojourn_s(1)
        assert model.best() == 1
        assert model.floor_s() == model.sojourn_s(1)

    def test_from_two_executors_on_the_best_may_lie_further_out(self):
        model = MixedSpeeds(mmk(0.1, 4), (1.0, 0.1, 1.0, 1.0))
        assert model.best() == 1
        assert model.best(least=2) == math.inf

    def test_even_shares_by_speed_have_the_latency_of_the_mean_speed(self):
        speeds, rate, mu = (2.0, 1.0, 0.5), 6.0, 3.0
        shares = [rate * speed / sum(speeds) for speed in speeds]
        one_by_one = sum(
            share / rate * projected_latency_s(share, mu * speed) for share, speed in zip(shares, speeds, strict=True)
        )
        assert MixedSpeeds(mm1(rate, mu), speeds).sojourn_s(3) == pytest.approx(one_by_one, rel=1e-12)

    @pytest.mark.parametrize("speeds", [(), (1.0, 0.0), (1.0, -2.0), (math.nan,)])
    def test_impossible_speeds_are_refused_with_their_values(self, speeds):
        with pytest.raises(ConfigError, match="speeds"):
            MixedSpeeds(mmk(1, 2), speeds)


@given(MODELS)
def test_sojourn_times_fall_and_fall_ever_less_up_to_the_best(model):
    times = sojourns(model)
    gains = [before - after for before, after in pairwise(times)]
    assert all(gain >= -1e-12 * times[0] for gain in gains)
    assert all(later <= earlier + 1e-12 * times[0] for earlier, later in pairwise(gains))


@given(MODELS)
def test_beyond_the_best_no_executor_helps(model):
    if math.isfinite(model.best()):
        best = int(model.best())
        assert all(model.sojourn_s(best) <= model.sojourn_s(k) * (1 + 1e-12) for k in range(best, best + 10))
        assert model.floor_s() == model.sojourn_s(best)


@given(MODELS)
def test_without_a_best_the_sojourn_time_comes_ever_nearer_to_its_floor(model):
    assume(math.isinf(model.best()))
    assert model.sojourn_s(2_000 * int(model.fewest())) == pytest.approx(model.floor_s(), rel=1e-3)


@given(MODELS)
def test_changes_are_differences_of_the_mean_number_of_tuples(model):
    times = sojourns(model)
    change = model.changes(int(model.fewest()))
    for before, after in pairwise(times):
        expected = model.arrival_rate * (after - before)
        assert next(change) == pytest.approx(expected, rel=1e-6, abs=1e-9 * model.arrival_rate * times[0])


@given(st.lists(MODELS, min_size=1, max_size=8), st.integers(0, 5))
def test_models_side_by_side_change_by_the_very_same_bits(models, more):
    for kind in (GIGk, SplitMM1, MicroBatch):
        family = [model for model in models if isinstance(model, kind)]
        if family:
            executors = [int(model.fewest()) + more for model in family]
            stack = kind.stack(family, np.array(executors, dtype=np.int64))
            block = np.vstack([stack.block(3), stack.block(4)])
            for column, (model, k) in enumerate(zip(family, executors, strict=True)):
                change = model.changes(k)
                assert block[:, column].tolist() == [next(change) for _ in range(7)]
