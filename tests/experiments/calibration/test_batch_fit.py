"""The fit of batch costs: recovers known costs, tolerates outliers, and says what it cannot know."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.experiments.calibration.batch_fit import MeasuredBatch, expected_largest, fit_batches


def batches(
    fixed_s: float = 0.3,
    per_task_s: float = 0.02,
    service_s: float = 0.02,
    *,
    executors: tuple[int, ...] = (1, 2, 4),
    rows: tuple[int, ...] = (10, 40, 120),
    each: int = 15,
    noise: float = 0.0,
    scv: float = 0.0,
    seed: int = 0,
) -> list[MeasuredBatch]:
    """Batches as the simulator makes them: each record's service is drawn, the busiest executor decides."""
    rng = np.random.default_rng(seed)
    made = []
    for count in executors:
        for total in rows:
            for _ in range(each):
                own = int(rng.poisson(total)) + 1
                share = -(-own // count)
                if scv:
                    work_s = service_s * rng.gamma(1 / scv, scv, size=(count, share)).sum(axis=1).max()
                else:
                    work_s = service_s * share
                cost_s = (fixed_s + per_task_s * count) * (1 + noise * rng.standard_normal())
                made.append(MeasuredBatch(count, count, share, max(1e-3, cost_s + work_s)))
    return made


def test_exact_batches_give_back_their_costs() -> None:
    fit = fit_batches("split", batches())
    assert fit.fixed.value == pytest.approx(0.3, rel=1e-6)
    assert fit.per_task.value == pytest.approx(0.02, rel=1e-6)
    assert fit.service.value == pytest.approx(0.02, rel=1e-6)
    assert fit.left_out == 0


@settings(max_examples=40, deadline=None)
@given(
    fixed_s=st.floats(0.1, 2.0),
    per_task=st.floats(0.02, 0.3),
    service_s=st.floats(0.002, 0.05),
    seed=st.integers(0, 1000),
)
def test_noisy_batches_give_back_their_costs_within_a_few_per_cent(
    fixed_s: float, per_task: float, service_s: float, seed: int
) -> None:
    per_task_s = per_task * fixed_s
    made = batches(fixed_s, per_task_s, service_s, noise=0.05, each=40, rows=(20, 100, 400), seed=seed)
    fit = fit_batches("split", made)
    cost_s = fixed_s + 2 * per_task_s
    assert fit.fixed.value + 2 * fit.per_task.value == pytest.approx(cost_s, rel=0.05)
    assert fit.service.value == pytest.approx(service_s, rel=0.05, abs=0.05 * cost_s / 400)
    assert fit.fixed.half_width is not None
    assert abs(fit.fixed.value - fixed_s) < 2.5 * fit.fixed.half_width + 1e-9


def test_confidence_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    fits = [fit_batches("split", batches(noise=0.1, seed=seed)) for seed in range(200)]
    for truth, name in ((0.3, "fixed"), (0.02, "per_task"), (0.02, "service")):
        covered = sum(getattr(fit, name).contains(truth) for fit in fits) / len(fits)
        assert covered > 0.9, name


@pytest.mark.parametrize("factor", [5.0, 50.0])
def test_cold_batches_do_not_change_the_fit(factor: float) -> None:
    made = batches(noise=0.05)
    spoiled = [
        MeasuredBatch(b.tasks, b.executors, b.longest_rows, factor * b.duration_s) if n % 10 == 0 else b
        for n, b in enumerate(made)
    ]
    fit = fit_batches("split", spoiled)
    assert fit.left_out >= len(made) // 10
    assert fit.fixed.value == pytest.approx(0.3, rel=0.08)
    assert fit.service.value == pytest.approx(0.02, rel=0.05)


def test_varying_service_times_are_not_taken_for_slower_ones() -> None:
    """The busiest of several executors works longer than the mean; the simulator draws that itself."""
    made = batches(service_s=0.05, scv=1.0, noise=0.03, each=60)
    naive, fit = fit_batches("split", made), fit_batches("split", made, scv=1.0)
    assert abs(fit.service.value - 0.05) < abs(naive.service.value - 0.05) or abs(fit.per_task.value - 0.02) < abs(
        naive.per_task.value - 0.02
    )
    assert fit.service.value == pytest.approx(0.05, rel=0.06)
    assert fit.fixed.value == pytest.approx(0.3, rel=0.15)


def test_the_variation_of_the_cost_is_that_of_the_noise() -> None:
    fit = fit_batches("split", batches(noise=0.2, each=100))
    assert fit.cost_scv == pytest.approx(0.04, rel=0.25)


def test_timed_records_replace_a_service_time_that_agrees_with_them() -> None:
    fit = fit_batches("split", batches(noise=0.1), timed_s=0.0201)
    assert fit.service.value == 0.0201
    assert fit.service.half_width is None


def test_batches_that_say_significantly_more_than_timed_records_win() -> None:
    fit = fit_batches("split", batches(noise=0.02), timed_s=0.01)
    assert fit.service.value == pytest.approx(0.02, rel=0.05)


def test_costs_are_never_negative() -> None:
    fit = fit_batches("split", batches(fixed_s=0.0, per_task_s=0.001, noise=1.0))
    assert min(fit.fixed.value, fit.per_task.value, fit.service.value) >= 0.0


def test_the_expected_batch_is_the_one_that_was_made() -> None:
    made = batches()
    fit = fit_batches("split", made)
    assert fit.expected_s(made[0]) == pytest.approx(made[0].duration_s)


def test_a_keyed_operator_has_one_cost() -> None:
    same = [MeasuredBatch(8, b.executors, b.longest_rows, b.duration_s) for b in batches(per_task_s=0.0)]
    fit = fit_batches("count", same, tasks_vary=False)
    assert fit.fixed.value == pytest.approx(0.3, rel=1e-6)
    assert fit.per_task.value == 0.0


def test_too_few_batches_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'split' had 3 batches with records, too few to fit: 12 are needed"):
        fit_batches("split", batches(executors=(1,), rows=(10,), each=3))


def test_batches_without_records_do_not_count() -> None:
    with pytest.raises(ConfigError, match="'split' had 0 batches"):
        fit_batches("split", [MeasuredBatch(1, 1, 0, 0.3)] * 50)


def test_one_number_of_executors_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"fixed cost and its cost per task cannot be told apart.*--executors 1,2,4"):
        fit_batches("split", batches(executors=(2,)))


def test_batches_of_one_size_do_not_show_the_service_time() -> None:
    same = [MeasuredBatch(k, k, 10, 0.5 + 0.01 * k) for k in (1, 2) for _ in range(20)]
    with pytest.raises(ConfigError, match=r"service time of operator 'split' is not identified.*--rates"):
        fit_batches("split", same)
    assert fit_batches("split", same, timed_s=0.02).fixed.value == pytest.approx(0.3)


def test_the_expected_largest_of_several_normal_numbers() -> None:
    drawn = np.random.default_rng(1).standard_normal((20_000, 4)).max(axis=1).mean()
    assert expected_largest(4) == pytest.approx(drawn, rel=0.04)
    assert expected_largest(1) == 0.0
