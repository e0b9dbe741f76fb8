"""μ_i of the executors of a pool: averaged completions per useful second (StreamSwitch 4.2)."""

from collections.abc import Iterable

from rheostat.measure.service import ServiceRate
from rheostat.snapshot import ExecutorPhase, ExecutorState

_NOT_YET_SERVING = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.WARM)


class ServiceRates:
    """μ_i[m] = (1−η)·μ_i[m−1] + η·C_i[m]/ρ_i[m], from each executor's own counters.

    Until an executor is measured it is taken to be as fast as the one it took its substreams from, or else as the
    measured ones on average. One that was restarted keeps its old rate until it is measured anew.
    """

    def __init__(self, eta: float) -> None:
        self._eta = eta
        self._executors: dict[int, _Rate] = {}
        self._inherited: dict[int, float] = {}
        self._whole: float | None = None
        self._seen = False

    def update(self, states: Iterable[ExecutorState], planned: Iterable[int], whole: float | None = None) -> None:
        """One more look; `whole` is the mean rate of an executor, for plants that do not tell them apart."""
        listed = {state.id: state for state in states}
        for number, state in listed.items():
            if number not in self._executors:
                self._executors[number] = _Rate(ServiceRate(0 if self._seen else None))
            self._executors[number].update(state, self._eta)
        self._seen = True
        for gone in self._executors.keys() - listed.keys() - set(planned):
            del self._executors[gone]
            self._inherited.pop(gone, None)
        if whole is not None:
            self._whole = whole if self._whole is None else self._whole + self._eta * (whole - self._whole)

    def inherit(self, executor: int, source: int) -> None:
        """`executor` is new and takes substreams from `source`."""
        if (rate := self.rate(source)) is not None:
            self._inherited[executor] = rate

    def rate(self, executor: int) -> float | None:
        """μ of `executor`; None when nothing was measured yet."""
        own = self._executors.get(executor)
        if own is not None and own.mean is not None:
            return own.mean
        return self._inherited.get(executor) or self._mean()

    def _mean(self) -> float | None:
        measured = [each.mean for each in self._executors.values() if each.mean is not None]
        return sum(measured) / len(measured) if measured else self._whole


class _Rate:
    """One executor's moving average."""

    def __init__(self, service: ServiceRate) -> None:
        self._service = service
        self._instance: str | None = None
        self._completed = 0
        self._fresh = True
        self.mean: float | None = None

    def update(self, state: ExecutorState, eta: float) -> None:
        completed, busy_s = state.completed, state.busy_s
        if state.phase in _NOT_YET_SERVING:
            completed, busy_s = completed or 0, busy_s or 0.0
        self._notice_restart(state)
        sample = self._service.update(completed, busy_s)
        if sample is None:
            return
        self.mean = sample if self.mean is None or self._fresh else (1 - eta) * self.mean + eta * sample
        self._fresh = False

    def _notice_restart(self, state: ExecutorState) -> None:
        completed = self._completed if state.completed is None else state.completed
        if completed < self._completed or state.instance != self._instance:
            self._fresh = True
        self._completed, self._instance = completed, state.instance
