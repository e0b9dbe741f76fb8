"""Plant fit: from what was measured on Spark to the parameters of the simulated plant."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from rheostat.errors import ConfigError
from rheostat.experiments.calibration.batch_fit import BatchFit, Estimate, MeasuredBatch, fit_batches
from rheostat.experiments.calibration.change_fit import ChangedBatch, cost_while_starting, first_batch
from rheostat.experiments.calibration.measurements import BatchSample, Measurements, OperatorSamples
from rheostat.experiments.calibration.start_fit import StartFit, fit_starts
from rheostat.names import OperatorName
from rheostat.plan import Plan
from rheostat.topology import Operator, Topology

_LATENCY_IN_BATCHES = 1.5
"""Of a source: a record waits half a batch for the next one, and then a whole one."""

_LEAST_SPEED = 0.01
_AT_ONCE_S = 1.0
"""Settings that are no further apart follow each other without a change of executors."""


class OperatorFit(msgspec.Struct, frozen=True, kw_only=True):
    """One operator. `scv` is the variation of its service times, `selectivities` are by stream that it writes.

    `first_batch` is what the first batch takes longer in which executors have joined, or substreams have moved, and
    `cost_while_starting` how many times as much batches cost while executors start; None if that was not seen.
    """

    batches: BatchFit
    scv: float
    selectivities: dict[str, float]
    substream_rows: tuple[int, ...]
    first_batch: Estimate | None
    cost_while_starting: float | None = None


class SourceFit(msgspec.Struct, frozen=True, kw_only=True):
    """One source: the length of its batches, and its input rates as (seconds since the start, records per second)."""

    batch_s: float
    rates: tuple[tuple[float, float], ...]


class PlantFit(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a scenario needs to know. `latency_s` is the mean latency while it was measured."""

    operators: dict[OperatorName, OperatorFit]
    sources: dict[str, SourceFit]
    starts: StartFit
    cold_speed: float | None
    latency_s: float | None
    duration_s: float
    executors: tuple[int, ...]


def fit_plant(topology: Topology, measured: Measurements) -> PlantFit:
    """The plant that was measured; raises what cannot be told from the measurements, and what to add."""
    if not measured.settings:
        raise ConfigError("nothing was measured: give at least one number of executors")
    operators = {name: _operator(topology, measured, name) for name in topology.operators}
    began_s = measured.settings[0].reached_s
    return PlantFit(
        operators=operators,
        sources={name: _source(topology, measured, name) for name in topology.sources},
        starts=fit_starts(measured.starts),
        cold_speed=_cold_speed(measured, operators),
        latency_s=_mean_latency_s(measured, [OperatorName(name) for name in topology.terminals]),
        duration_s=measured.settings[-1].ended_s - began_s,
        executors=tuple(dict.fromkeys(setting.executors for setting in measured.settings)),
    )


def _operator(topology: Topology, measured: Measurements, name: OperatorName) -> OperatorFit:
    samples, operator = measured.operators[name], topology.operators[name]
    warm = _with_gaps([batch for batch in samples.batches if batch.started_s >= measured.settings[0].reached_s])
    usable = [
        _measured(topology, operator, samples, batch)
        for batch in _undisturbed(measured, warm)
        if batch.executors and not batch.is_first
    ]
    scv = samples.timed_scv or 0.0
    fit = fit_batches(name, usable, scv=scv, timed_s=samples.timed_s, tasks_vary=not operator.keyed)
    if fit.service.value <= 0:
        raise ConfigError(
            f"the service time of operator {name!r} is not identified: its batches take no longer with more records; "
            "give it more input, e.g. with --rates"
        )
    changed = _changed(topology, operator, measured, warm, fit)
    while_starting = cost_while_starting(changed)
    return OperatorFit(
        batches=fit,
        scv=scv,
        selectivities=_selectivities(topology, measured, operator),
        substream_rows=samples.substream_rows,
        first_batch=first_batch(changed, while_starting),
        cost_while_starting=while_starting,
    )


def _changed(
    topology: Topology, operator: Operator, measured: Measurements, batches: Sequence[BatchSample], fit: BatchFit
) -> list[ChangedBatch]:
    """What each batch took beyond the fit; one during which the number of executors changed had the one before."""
    samples = measured.operators[OperatorName(operator.name)]
    starts = [
        (later.began_s, later.reached_s)
        for earlier, later in pairwise(measured.settings)
        if later.executors > earlier.executors
    ]
    changed, size = [], measured.settings[0].executors
    for batch in batches:
        at_change = batch.executors is None or batch.is_first
        size = batch.executors or size
        known = _measured(topology, operator, samples, msgspec.structs.replace(batch, executors=size))
        excess_s = batch.duration_s - fit.expected_s(known, samples.timed_scv or 0.0)
        cost_s = fit.fixed.value + fit.per_task.value * known.tasks
        in_start = any(began_s <= batch.started_s and batch.committed_s <= end_s for began_s, end_s in starts)
        changed.append(ChangedBatch(excess_s, cost_s, in_start, at_change and batch.rows > 0))
    return changed


def _undisturbed(measured: Measurements, batches: Sequence[BatchSample]) -> list[BatchSample]:
    """The batches that ran while no executor was starting: starts slow down what runs on the same machines."""
    spans = [(setting.reached_s, setting.ended_s) for setting in measured.settings]
    return [
        batch
        for batch in batches
        if any(reached_s <= batch.started_s and batch.committed_s <= ended_s for reached_s, ended_s in _joined(spans))
    ]


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """`spans` with those that follow each other at once made one."""
    joined: list[tuple[float, float]] = []
    for start_s, end_s in spans:
        if joined and start_s - joined[-1][1] < _AT_ONCE_S:
            joined[-1] = (joined[-1][0], end_s)
        else:
            joined.append((start_s, end_s))
    return joined


def _with_gaps(batches: Sequence[BatchSample]) -> list[BatchSample]:
    """`batches`, each begun when the one before it had ended: meanwhile Spark looks for input and plans.

    How long that takes is seen in the gaps before large batches: there input was waiting.
    """
    usual = float(np.median([batch.rows for batch in batches])) if batches else 0.0
    gaps_s = [later.started_s - earlier.committed_s for earlier, later in pairwise(batches) if later.rows >= usual]
    gap_s = max(0.0, float(np.median(gaps_s))) if gaps_s else 0.0
    return [msgspec.structs.replace(batch, started_s=batch.started_s - gap_s) for batch in batches]


def _measured(topology: Topology, operator: Operator, samples: OperatorSamples, batch: BatchSample) -> MeasuredBatch:
    assert batch.executors
    count = batch.executors
    if not operator.keyed:
        return MeasuredBatch(count, count, batch.rows / count, batch.duration_s)
    share = _largest_share(topology, operator, samples, count)
    return MeasuredBatch(operator.substream_count, count, batch.rows * share, batch.duration_s)


def _largest_share(topology: Topology, operator: Operator, samples: OperatorSamples, executors: int) -> float:
    """The share of the executor with the most records, as a plan for so many assigns substreams."""
    rows = samples.substream_rows
    if len(rows) != operator.substream_count or not sum(rows):
        return 1.0 / min(executors, operator.substream_count)
    owners = Plan.initial(topology, executors).assignment[OperatorName(operator.name)]
    shares = np.bincount(owners, weights=rows, minlength=executors) / sum(rows)
    return float(shares.max())


def _selectivities(topology: Topology, measured: Measurements, operator: Operator) -> dict[str, float]:
    """Records written per record read, for each stream that another operator reads; as declared for others."""
    read = sum(measured.operators[OperatorName(operator.name)].rows_read.values())
    found = dict(operator.selectivities)
    for stream in topology.out_of(operator.name):
        written = measured.operators[stream.consumer].rows_read.get(stream.name)
        if written is not None and read:
            found[stream.name] = written / read
    return found


def _source(topology: Topology, measured: Measurements, name: str) -> SourceFit:
    began_s = measured.settings[0].reached_s
    rates = tuple((setting.reached_s - began_s, setting.input_rates.get(name, 0.0)) for setting in measured.settings)
    delays = [
        (batch.latency_s - batch.waited_s, batch.rows)
        for stream in topology.out_of(name)
        for batch in _undisturbed(measured, measured.operators[stream.consumer].batches)
        if batch.latency_s is not None and batch.waited_s is not None and batch.rows
    ]
    rows = sum(each for _, each in delays)
    delay_s = sum(delay_s * each for delay_s, each in delays) / rows if rows else 0.0
    return SourceFit(batch_s=max(0.0, delay_s) / _LATENCY_IN_BATCHES, rates=rates)


def _cold_speed(measured: Measurements, operators: dict[OperatorName, OperatorFit]) -> float | None:
    """How fast the first executors were, cold, compared with warm ones; None if none of their batches is known."""
    expected_s = took_s = 0.0
    for name, fit in operators.items():
        samples = measured.operators[name].batches
        cold = [batch for batch in samples if batch.started_s < measured.settings[0].reached_s and batch.rows]
        for batch in cold[:3]:
            count = measured.settings[0].executors
            as_warm = MeasuredBatch(count, count, batch.rows / count, batch.duration_s)
            expected_s += fit.batches.expected_s(as_warm, fit.scv)
            took_s += batch.duration_s
    return min(1.0, max(_LEAST_SPEED, expected_s / took_s)) if took_s else None


def _mean_latency_s(measured: Measurements, terminals: Sequence[OperatorName]) -> float | None:
    began_s = measured.settings[0].reached_s
    known = [
        (batch.latency_s, batch.rows)
        for name in terminals
        for batch in measured.operators[name].batches
        if batch.latency_s is not None and batch.started_s >= began_s
    ]
    rows = sum(each for _, each in known)
    return sum(latency_s * each for latency_s, each in known) / rows if rows else None
