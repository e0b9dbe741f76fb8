"""Drain: for how long the SLA is missed until a backlog is gone, with a given number of executors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.snapshot import OperatorState

Floats = NDArray[np.float64]

Executors = Sequence[tuple[float, float]]
"""How many serve an operator from which time on, in seconds from now; the first is for now."""

_HORIZON_S = 180.0
_STEP_S = 1.0
_SHORTEST_BATCH_S = 0.1

_SETTLED = 0.01
"""Batches that last as long as the one before up to this share go on like that."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What an operator has to do: `waiting` records that arrived within the last `arrived_s`, and a batch under way of
    `rows` records, which ends after `left_s` and has a mean latency of `latency_s` then. More arrive at `rate`."""

    waiting: float
    arrived_s: float
    rate: float
    rows: float = 0.0
    left_s: float = 0.0
    latency_s: float = 0.0

    @classmethod
    def of(cls, cost: OperatorCost, state: OperatorState, rate: float) -> "Backlog":
        """As observed."""
        queued, batch = float(state.queued or 0), state.under_way
        if batch is None:
            arrived_s = queued / rate if rate > 0 else 0.0
            return cls(queued, max(state.oldest_s or 0.0, arrived_s), rate)
        rows = queued if batch.rows is None else min(queued, float(batch.rows))
        left_s = cost.left_s(rows, batch.worked_s)
        return cls(queued - rows, batch.elapsed_s, rate, rows, left_s, cost.projected_s(state))


@dataclass(frozen=True, slots=True)
class Drain:
    """The mean latency of the SLA's window is above its limit for `late_s`; the last record that is late leaves after
    `until_s`."""

    late_s: float
    until_s: float


def drain(cost: OperatorCost, backlog: Backlog, executors: Executors, limit_s: float, window_s: float) -> Drain:
    """What comes of a backlog that so many executors serve."""
    served = _in_batches if cost.batched else _record_by_record
    ends_s, rows, latencies_s = served(cost, backlog, executors)
    moments_s = np.arange(_STEP_S, _HORIZON_S, _STEP_S)
    totals = np.concatenate([[0.0], np.cumsum(rows * latencies_s)])
    counts = np.concatenate([[0.0], np.cumsum(rows)])
    last = np.searchsorted(ends_s, moments_s, side="right")
    first = np.searchsorted(ends_s, moments_s - window_s, side="right")
    is_late = totals[last] - totals[first] > limit_s * (counts[last] - counts[first])
    late = np.flatnonzero((latencies_s > limit_s) & (rows > 0))
    return Drain(float(is_late.sum()) * _STEP_S, min(float(ends_s[late[-1]]), _HORIZON_S) if len(late) else 0.0)


def _in_batches(cost: OperatorCost, backlog: Backlog, executors: Executors) -> tuple[Floats, Floats, Floats]:
    """Times, records and mean latencies of batches. Each takes all that waits when it begins, up to the source's limit.
    Executors that come while it runs take its waiting tasks; where keys decide, they serve from the next one on. That
    batch takes longer because they are new. Once all serve, the other batches are like the last."""
    results = [(backlog.left_s, backlog.rows, backlog.latency_s)]
    last_s, before_s, served = executors[-1][0], math.inf, _serving(executors, 0.0)
    since_s, now_s = -backlog.arrived_s, backlog.left_s
    waiting = backlog.waiting + backlog.rate * backlog.left_s
    while now_s < _HORIZON_S:
        rows = min(waiting, cost.row_limit)
        until_s = since_s + (now_s - since_s) * (rows / waiting if waiting > 0 else 1.0)
        batch_s = _batch_s(cost, rows, now_s, executors)
        size = _serving(executors, now_s + batch_s if cost.can_be_joined else now_s)
        if served < size:
            batch_s += cost.start_cost_s
        served = size
        results.append((now_s + batch_s, rows, now_s + batch_s - (since_s + until_s) / 2))
        took_s = max(batch_s, cost.trigger_s, _SHORTEST_BATCH_S)
        is_settled = now_s >= last_s and rows == waiting and abs(took_s - before_s) <= _SETTLED * took_s
        since_s, now_s, waiting = until_s, now_s + took_s, waiting - rows + backlog.rate * took_s
        before_s = took_s
        if is_settled:
            starts_s = np.arange(now_s, _HORIZON_S, took_s)
            results += [(start_s + batch_s, waiting, took_s / 2 + batch_s) for start_s in starts_s.tolist()]
            break
    ends_s, counts, latencies_s = np.array(results).T
    return ends_s, counts, latencies_s


def _batch_s(cost: OperatorCost, rows: float, now_s: float, executors: Executors) -> float:
    """How long a batch of so many records takes that begins `now_s`."""
    size, done, at_s = _serving(executors, now_s), 0.0, now_s
    for from_s, more in executors if cost.can_be_joined else ():
        if from_s <= at_s:
            continue
        takes_s = _takes_s(cost, rows, size)
        if (done_by_then := done + (from_s - at_s) / takes_s) >= 1:
            break
        size, done, at_s = more, done_by_then, from_s
    return at_s - now_s + (1 - done) * _takes_s(cost, rows, size)


def _takes_s(cost: OperatorCost, rows: float, size: float) -> float:
    return max(1e-6, float(cost.batch_with_s(np.array(rows), np.array(size), math.ceil(size))))


def _serving(executors: Executors, time_s: float) -> float:
    return next(size for from_s, size in reversed(executors) if from_s <= time_s)


def _record_by_record(cost: OperatorCost, backlog: Backlog, executors: Executors) -> tuple[Floats, Floats, Floats]:
    """The same second by second: all that waits is shared by all that serve. Work that waits is a walk that cannot go
    below 0 (Lindley's recursion)."""
    now_s = np.arange(0.0, _HORIZON_S, _STEP_S)
    since_s, _ = np.array(executors).T
    capacities = np.array([size / cost.stretch(math.ceil(size)) for _, size in executors])
    capacity = capacities[np.searchsorted(since_s, now_s, side="right") - 1]
    record_s = cost.service_s or 0.0
    before_s, arriving_s = backlog.waiting * record_s, backlog.rate * record_s * _STEP_S
    walk_s = before_s + np.cumsum(arriving_s - capacity * _STEP_S)
    waiting_s = walk_s - np.minimum(0.0, np.minimum.accumulate(walk_s))
    done_s = arriving_s - np.diff(waiting_s, prepend=before_s)
    rows = done_s / record_s if record_s > 0 else np.zeros(len(now_s))
    return now_s + _STEP_S, rows, record_s + waiting_s / capacity
