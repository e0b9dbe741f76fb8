"""Record figures: success, latency and throughput of a run, from the times of its records."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rheostat.measure.sla_windows import WindowedSuccess
from rheostat.sla import SLA

Times = NDArray[np.float64]

_SLOT_S = 0.1
_INTERVAL_S = 1.0


@dataclass(frozen=True)
class RecordFigures:
    """Records that entered at `entered_s` and completed at `completed_s` (NaN: not yet), in seconds from the start of a
    run of `duration_s`. What completed later counts as not completed."""

    entered_s: Times
    completed_s: Times
    duration_s: float
    sla: SLA | None = None

    @cached_property
    def latencies_s(self) -> Times:
        """The latency of each record that completed in time."""
        return (self.completed_s - self.entered_s)[self.completed_s <= self.duration_s]

    @property
    def mean_latency_s(self) -> float | None:
        return float(self.latencies_s.mean()) if len(self.latencies_s) else None

    @property
    def p99_latency_s(self) -> float | None:
        return float(np.quantile(self.latencies_s, 0.99)) if len(self.latencies_s) else None

    def late(self, timeout_s: float | None) -> int:
        """Records that took longer than `timeout_s`."""
        return 0 if timeout_s is None else int((self.latencies_s > timeout_s).sum())

    @property
    def throughput_degradation(self) -> float | None:
        """PA-SPS: the mean over intervals of |in − out| / in; intervals without input are left out."""
        edges = np.arange(0.0, self.duration_s + _INTERVAL_S / 2, _INTERVAL_S)
        entered, _ = np.histogram(self.entered_s, edges)
        completed, _ = np.histogram(self.completed_s[~np.isnan(self.completed_s)], edges)
        busy = entered > 0
        return float((abs(entered - completed)[busy] / entered[busy]).mean()) if busy.any() else None

    @cached_property
    def windows(self) -> Sequence[tuple[float, bool]]:
        """The end of each window that can be judged, and whether it met the SLA; without an SLA none."""
        return [] if self.sla is None else list(_judged(self, self.sla))

    @property
    def success_rate(self) -> float | None:
        return float(np.mean([met for _, met in self.windows])) if self.windows else None

    def met_between(self, start_s: float, end_s: float) -> bool | None:
        """Whether all windows that ended after `start_s` and until `end_s` met the SLA; None without a window."""
        judged = [met for time_s, met in self.windows if start_s < time_s <= end_s]
        return all(judged) if judged else None

    def backlog(self, time_s: float) -> int:
        """Records that had entered and not completed."""
        return int((self.entered_s <= time_s).sum() - (self.completed_s <= time_s).sum())

    def mean_latency_between(self, start_s: float, end_s: float) -> float | None:
        """Of the records that completed after `start_s` and until `end_s`."""
        done = (self.completed_s > start_s) & (self.completed_s <= end_s)
        return float((self.completed_s - self.entered_s)[done].mean()) if done.any() else None

    def input_rate(self, start_s: float, end_s: float) -> float | None:
        """Records per second that entered after `start_s` and until `end_s`."""
        entered = int(((self.entered_s > start_s) & (self.entered_s <= end_s)).sum())
        return entered / (end_s - start_s) if end_s > start_s else None


def _judged(records: RecordFigures, sla: SLA) -> list[tuple[float, bool]]:
    """One window ends with each slot, from the first full one on, as on the simulator."""
    slot_s = sla.window_s / np.ceil(sla.window_s / _SLOT_S - 1e-9)
    success = WindowedSuccess(sla.latency_s, sla.window_s, slot_s, 1)
    judged: list[tuple[float, bool]] = []
    missed = 0
    for slot in range(int(records.duration_s / slot_s + 1e-9)):
        start_s, end_s = slot * slot_s, (slot + 1) * slot_s
        done = (records.completed_s > start_s) & (records.completed_s <= end_s)
        waits = (records.entered_s <= end_s) & ~(records.completed_s <= end_s)
        oldest_s = end_s - records.entered_s[waits].min() if waits.any() else 0.0
        success.add_slot([(records.completed_s - records.entered_s)[done].sum()], [done.sum()], [oldest_s])
        seen = int(success.met()[0] + success.missed()[0])
        if seen > len(judged):
            judged.append((end_s, int(success.missed()[0]) == missed))
            missed = int(success.missed()[0])
    return judged
