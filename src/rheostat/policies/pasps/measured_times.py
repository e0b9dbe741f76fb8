"""Measured times: how long an event takes at each operator (et), and how long executors take to start."""

from collections import deque
from collections.abc import Mapping

from rheostat.names import OperatorName, PoolName
from rheostat.policies.observation import Observation
from rheostat.snapshot import ExecutorPhase, Snapshot


class ExecutionTimes:
    """et: as calibrated, then the mean over the last interval in which an operator completed anything."""

    def __init__(self, calibrated_s: Mapping[OperatorName, float]) -> None:
        self._known_s = dict(calibrated_s)
        self._work_s: dict[OperatorName, float] = {}
        self._completed: dict[OperatorName, float] = {}

    def update(self, observation: Observation) -> None:
        interval_s = observation.measures.interval_s
        for name, measures in observation.measures.operators.items():
            if measures.service_rate and measures.completion_rate:
                completed = measures.completion_rate * interval_s
                self._completed[name] = self._completed.get(name, 0.0) + completed
                self._work_s[name] = self._work_s.get(name, 0.0) + completed / measures.service_rate

    def end_interval(self) -> None:
        """Use what was measured in the interval that ends."""
        self._known_s.update({name: work_s / self._completed[name] for name, work_s in self._work_s.items()})
        self._work_s, self._completed = {}, {}

    def of(self, operator: OperatorName) -> float | None:
        return self._known_s.get(operator)


_COMING = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING)
_REMEMBERED = 5
_LONGEST_S = 120.0
"""An executor that takes longer waited for room in the cluster, which no forecast can help."""


class StartTimes:
    """The longest of the last few starts, which is how far ahead a forecast must look. Warm standbys do not count."""

    def __init__(self) -> None:
        self._seen_s: float | None = None
        self._since_s: dict[tuple[PoolName, int], float] = {}
        self._took_s: deque[float] = deque(maxlen=_REMEMBERED)

    def update(self, snapshot: Snapshot) -> None:
        """Add one more turn. Executors that are there in the first snapshot do not count."""
        for executor in snapshot.executors:
            name = executor.pool, executor.id
            if executor.id < 0:
                continue
            if executor.phase in _COMING and self._seen_s is not None:
                self._since_s.setdefault(name, self._seen_s)
            elif executor.phase is ExecutorPhase.ACTIVE and name in self._since_s:
                self._came(snapshot.time_s - self._since_s.pop(name))
        present = {(executor.pool, executor.id) for executor in snapshot.executors}
        self._since_s = {name: since_s for name, since_s in self._since_s.items() if name in present}
        self._seen_s = snapshot.time_s

    @property
    def longest_s(self) -> float:
        """0 before the first start."""
        return max(self._took_s, default=0.0)

    def _came(self, after_s: float) -> None:
        if after_s <= _LONGEST_S:
            self._took_s.append(after_s)
