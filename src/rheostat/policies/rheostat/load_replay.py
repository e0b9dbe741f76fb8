"""Load replay: the latencies that the load of past moments like the present one would bring, were it to come again."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.policies.rheostat.operator_cost import FULL, LATENCY_IN_BATCHES, OperatorCost

Floats = NDArray[np.float64]

_DRAINING_USE = 0.5
"""Utilisation when further executors serve, which were asked for because of a rise."""

_LIKE_THE_WORST = 0.5
"""Latencies that exceed those of the long run by this share of what the worst one does are like it."""

_FORGOTTEN_S = 300.0
_STEP_S = 2.0
_MOST_BATCHES = 100

_PHASE = (math.sqrt(5) - 1) / 2
"""Of a batch that is under way at a moment so much is over, times the number of the moment: all phases come evenly."""


@dataclass(frozen=True, slots=True)
class LoadReplay:
    """Records that had arrived at each time, and moments from which on it may go on like that; the load now is
    `rate`. The first `supposed` moments did not happen. What came once comes again only if `is_expected_once`."""

    times_s: Floats
    arrived: Floats
    moments_s: Floats
    rate: float
    supposed: int = 0
    is_expected_once: bool = True

    def latency_s(
        self, cost: OperatorCost, rate: float, size: int, start_s: float, window_s: float, share: float
    ) -> float:
        """The mean latency of a window that is not exceeded in this share of the moments, at an operator at which
        records arrive at `rate` now. Others serve `start_s` after the moment."""
        if not len(self.moments_s):
            return 0.0
        latencies_s = (self._in_batches if cost.batched else self._record_by_record)(
            cost, rate / self.rate, rate, size, start_s, window_s
        )
        expected_s = self._expected(latencies_s, start_s + window_s, cost.latency_s(rate, size))
        return float(np.quantile(expected_s, share, method="higher"))

    def _expected(self, latencies_s: Floats, around_s: float, steady_s: float) -> Floats:
        """With the latency of the long run around the worst moment if nothing like it came at another time, and it was
        long ago or must come twice: then it is not expected again."""
        seen_s, moments_s = latencies_s[self.supposed :], self.moments_s[self.supposed :]
        if not len(seen_s) or math.isinf(steady_s):
            return latencies_s
        worst = seen_s.argmax()
        if self.is_expected_once and moments_s[worst] > self.times_s[-1] - _FORGOTTEN_S:
            return latencies_s
        is_around = np.abs(moments_s - moments_s[worst]) <= around_s
        limit_s = steady_s + _LIKE_THE_WORST * (seen_s[worst] - steady_s)
        if self.is_expected_once if is_around.all() else seen_s[~is_around].max() >= limit_s:
            return latencies_s
        expected_s = np.where(is_around, np.minimum(seen_s, steady_s), seen_s)
        return np.concatenate([latencies_s[: self.supposed], expected_s])

    def _in_batches(
        self, cost: OperatorCost, factor: float, rate: float, size: int, start_s: float, window_s: float
    ) -> Floats:
        """Batch by batch: each has what arrived during the one before, of which one is under way at the moment."""
        begin_s = self.moments_s
        at_first = self._arrived_at(begin_s)
        later = self._later_size(cost, factor, size, start_s, at_first)
        steady_s = cost.latency_s(rate, size) / LATENCY_IN_BATCHES
        if math.isinf(steady_s):
            return np.full(len(begin_s), math.inf)
        phases_s = steady_s * (_PHASE * np.arange(1, len(begin_s) + 1) % 1)
        before_s, before = begin_s - phases_s, -rate * phases_s / factor
        now_s = before_s + steady_s
        now = self._arrived_at(now_s) - at_first
        total_s, records = np.zeros(len(begin_s)), np.full(len(begin_s), 1e-9)
        end_s = begin_s + window_s
        for _ in range(_MOST_BATCHES):
            counts = now_s < end_s
            if not counts.any():
                break
            rows = (now - before) * factor
            batch_s = self._batch_s(cost, rows, begin_s + start_s - now_s, size, later)
            total_s += np.where(counts, rows * (now_s + batch_s - (before_s + now_s) / 2), 0.0)
            records += np.where(counts, rows, 0.0)
            next_s = now_s + np.maximum(batch_s, cost.trigger_s)
            before_s, now_s, before, now = now_s, next_s, now, self._arrived_at(next_s) - at_first
        return np.asarray(total_s / records)

    @staticmethod
    def _batch_s(cost: OperatorCost, rows: Floats, until_s: Floats, size: int, later: Floats) -> Floats:
        """With `size` executors, and with `later` ones as soon as these serve: from the next batch on where keys
        decide, else they take waiting tasks at once."""
        before_s, after_s = cost.batch_with_s(rows, np.array(size), size), cost.batch_with_s(rows, later, size)
        if not cost.can_be_joined:
            return np.where(until_s > 0, before_s, after_s)
        alone_s = np.clip(until_s, 0.0, before_s)
        return alone_s + (1 - alone_s / np.maximum(before_s, 1e-9)) * after_s

    def _record_by_record(
        self, cost: OperatorCost, factor: float, rate: float, size: int, start_s: float, window_s: float
    ) -> Floats:
        """Work that waits, step by step."""
        begin_s = now_s = self.moments_s
        base_s, waiting_s = cost.latency_s(rate, size), np.zeros(len(begin_s))
        if math.isinf(base_s):
            return np.full(len(begin_s), math.inf)
        before = self._arrived_at(begin_s)
        later = self._later_size(cost, factor, size, start_s, before)
        record_s = (cost.service_s or 0.0) * cost.stretch(size)
        total_s, records = np.zeros(len(begin_s)), np.full(len(begin_s), 1e-9)
        for _ in range(math.ceil(window_s / _STEP_S)):
            now_s = now_s + _STEP_S
            now = self._arrived_at(now_s)
            serving = np.where(now_s <= begin_s + start_s, size, later)
            rows, before = (now - before) * factor, now
            left_s = np.maximum(0.0, waiting_s + rows * record_s - FULL * serving * _STEP_S)
            total_s += rows * (base_s + (waiting_s + left_s) / 2 / serving)
            records += rows
            waiting_s = left_s
        return np.asarray(total_s / records)

    def _later_size(self, cost: OperatorCost, factor: float, size: int, start_s: float, at_first: Floats) -> Floats:
        """What is asked for because of the load until then."""
        rates = (self._arrived_at(self.moments_s + start_s) - at_first) * factor / start_s
        return np.maximum(size, rates * (cost.service_s or 0.0) * cost.stretch(size) / _DRAINING_USE)

    def _arrived_at(self, times_s: Floats) -> Floats:
        return np.interp(times_s, self.times_s, self.arrived)
