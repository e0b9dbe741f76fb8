"""Execution times: how long an event takes at each operator (et)."""

from collections.abc import Mapping

from rheostat.names import OperatorName
from rheostat.policies.observation import Observation


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
