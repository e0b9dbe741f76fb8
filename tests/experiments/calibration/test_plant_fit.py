"""From measurements to a plant: costs, selectivities, sources, what changes cost, and what is missing."""

import msgspec
import pytest
from calibrated_plants import (
    CHAIN,
    FIRST_S,
    FIXED_S,
    ONE,
    PER_TASK_S,
    SERVICE_S,
    SOURCE_S,
    batches,
    measured,
    measured_chain,
    with_operators,
)

from rheostat.errors import ConfigError
from rheostat.experiments.calibration.measurements import BatchSample, MeasuredSetting, OperatorSamples
from rheostat.experiments.calibration.plant_fit import fit_plant


def test_a_stateless_operator_is_recovered():
    fit = fit_plant(ONE, measured())
    found = fit.operators["serve"]
    assert found.batches.fixed.value == pytest.approx(FIXED_S, rel=0.01)
    assert found.batches.per_task.value == pytest.approx(PER_TASK_S, rel=0.01)
    assert found.batches.service.value == pytest.approx(SERVICE_S, rel=0.01)
    assert found.first_batch.value == pytest.approx(FIRST_S, rel=0.01)
    assert fit.starts.start.value == pytest.approx(4.0)
    assert fit.starts.warm_up.value == pytest.approx(3.0)


def test_a_source_has_the_batches_that_its_records_waited_for():
    source = fit_plant(ONE, measured()).sources["records"]
    assert source.batch_s == pytest.approx(SOURCE_S)
    assert source.rates == ((0.0, 20.0), (30.0, 30.0), (60.0, 40.0))


def test_a_keyed_operator_waits_for_its_busiest_executor():
    fit = fit_plant(CHAIN, measured_chain())
    count = fit.operators["count"]
    assert count.batches.fixed.value == pytest.approx(FIXED_S + 4 * PER_TASK_S, rel=0.01)
    assert count.batches.per_task.value == 0.0
    assert count.batches.service.value == pytest.approx(SERVICE_S, rel=0.01)


def test_selectivities_are_those_measured():
    fit = fit_plant(CHAIN, measured_chain())
    assert fit.operators["split"].selectivities == {"split": 6.0}
    assert fit.operators["count"].selectivities == {"count": 1.0}


def test_batches_before_the_first_setting_are_cold():
    made = batches()
    cold = [
        BatchSample(started_s=1.0, committed_s=5.0, rows=10, executors=1, is_first=True),
        BatchSample(started_s=5.0, committed_s=8.0, rows=10, executors=1),
    ]
    samples = OperatorSamples(batches=(*cold, *made), rows_read={"records": 4000})
    fit = fit_plant(ONE, with_operators({"serve": samples}))
    expected_s = 2 * (FIXED_S + PER_TASK_S + 10 * SERVICE_S)
    assert fit.cold_speed == pytest.approx(expected_s / 7.0, rel=0.01)
    assert fit.operators["serve"].batches.left_out == 0


def test_the_mean_latency_is_weighted_by_records():
    made = batches()
    rows = sum(each.rows for each in made)
    assert fit_plant(ONE, measured()).latency_s == pytest.approx(sum(b.latency_s * b.rows for b in made) / rows)


def test_one_number_of_executors_cannot_be_fitted():
    with pytest.raises(ConfigError, match="cannot be told apart"):
        fit_plant(ONE, measured(counts=(2,), each=40))


def test_an_operator_without_batches_is_named():
    empty = OperatorSamples(batches=(), rows_read={})
    with pytest.raises(ConfigError, match="operator 'serve' had 0 batches with records"):
        fit_plant(ONE, with_operators({"serve": empty}))


def test_an_operator_that_costs_nothing_is_not_identified():
    flat = [msgspec.structs.replace(b, committed_s=b.started_s + 0.5, is_first=False) for b in batches()]
    samples = OperatorSamples(batches=tuple(flat), rows_read={"records": 4000})
    with pytest.raises(ConfigError, match="service time of operator 'serve' is not identified"):
        fit_plant(ONE, with_operators({"serve": samples}))


def test_nothing_measured_is_refused():
    with pytest.raises(ConfigError, match="nothing was measured"):
        fit_plant(ONE, msgspec.structs.replace(measured(), settings=()))


def test_the_time_between_batches_is_part_of_their_cost():
    """It is seen where input waits; before small batches the query may have waited for input."""
    moved, delay_s = [], 0.0
    for each in batches():
        delay_s += 0.1 if each.rows >= 50 else 3.0
        moved.append(
            msgspec.structs.replace(each, started_s=each.started_s + delay_s, committed_s=each.committed_s + delay_s)
        )
    samples = OperatorSamples(batches=tuple(moved), rows_read={"records": 4000})
    fit = fit_plant(ONE, with_operators({"serve": samples}))
    assert fit.operators["serve"].batches.fixed.value == pytest.approx(FIXED_S + 0.1, rel=0.01)


def test_batches_that_ran_while_executors_started_do_not_count():
    """They share the machine with what starts."""
    made = [msgspec.structs.replace(b, started_s=b.started_s + 9.0, committed_s=b.committed_s + 9.0) for b in batches()]
    slow = [
        BatchSample(started_s=10.0 + n, committed_s=12.0 + n, rows=10, executors=1, waited_s=1.0, latency_s=9.0)
        for n in range(8)
    ]
    samples = OperatorSamples(batches=(*slow, *made), rows_read={"records": 4000})
    first = MeasuredSetting(executors=1, began_s=0.0, reached_s=5.0, ended_s=6.0, input_rates={"records": 9.0})
    later = MeasuredSetting(executors=1, began_s=6.0, reached_s=18.5, ended_s=200.0, input_rates={"records": 9.0})
    found = fit_plant(ONE, msgspec.structs.replace(with_operators({"serve": samples}), settings=(first, later)))
    assert found.operators["serve"].batches.fixed.value == pytest.approx(FIXED_S, rel=0.01)
    assert found.operators["serve"].batches.left_out == 0
    assert found.sources["records"].batch_s == pytest.approx(SOURCE_S)
