"""Service rates: μ_i of the executors of a pool, averaged completions per useful second (StreamSwitch 4.2)."""

from collections.abc import Iterable

from rheostat.snapshot import ExecutorPhase, ExecutorState

_NOT_YET_SERVING = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.WARM)


class ServiceRates:
    """μ_i from each executor's own counters: averages with weight η on the newest of completions C_i and of useful
    time ρ_i, divided by each other.

    The paper averages the quotients C_i/ρ_i, which is the same under a steady load. But a slot in which a single record
    completes counts there as much as a full one, and a very short record would make its executor look very fast.

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
        """Add one more turn; `whole` is the mean rate of an executor, for plants that do not measure each of them."""
        listed = {state.id: state for state in states}
        for number, state in listed.items():
            if number not in self._executors:
                self._executors[number] = _Rate(self._eta, new=self._seen)
            self._executors[number].update(state)
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
        if own is not None and own.settled is not None:
            return own.settled
        return self._inherited.get(executor) or self._mean()

    def _mean(self) -> float | None:
        measured = [each.settled or each.first for each in self._executors.values()]
        known = [rate for rate in measured if rate is not None]
        return sum(known) / len(known) if known else self._whole


class _Rate:
    """One executor. `settled` is its rate once 1/η records have completed, as many as the average covers slots; `first`
    is the rate before that.

    A slot in which nothing completes is not used yet: its useful time counts when the next record completes.
    """

    def __init__(self, eta: float, *, new: bool) -> None:
        self._eta = eta
        self._last: tuple[float, float] | None = (0.0, 0.0) if new else None
        self._instance: str | None = None
        self._completed, self._busy_s, self._records = 0.0, 0.0, 0.0
        self.settled: float | None = None

    @property
    def first(self) -> float | None:
        return self._completed / self._busy_s if self._completed > 0 and self._busy_s > 0 else None

    def update(self, state: ExecutorState) -> None:
        completed, busy_s = state.completed, state.busy_s
        if state.phase in _NOT_YET_SERVING:
            completed, busy_s = completed or 0, busy_s or 0.0
        if state.instance != self._instance:
            self._instance = state.instance
            self._forget()
        if busy_s is None:
            self._last = None  # while it was unknown it may have worked uncounted
        elif completed is not None:
            self._add_reading(completed, busy_s)

    def _add_reading(self, completed: float, busy_s: float) -> None:
        before, self._last = self._last, (completed, busy_s)
        if before is None:
            return
        if completed < before[0] or busy_s < before[1]:
            self._forget()
        elif completed == before[0]:
            self._last = before
        elif busy_s > before[1]:
            self._add(completed - before[0], busy_s - before[1])

    def _add(self, completed: float, busy_s: float) -> None:
        enough = 1 / self._eta
        old, new = (1.0, 1.0) if self._records < enough else (1 - self._eta, self._eta)
        self._completed = old * self._completed + new * completed
        self._busy_s = old * self._busy_s + new * busy_s
        self._records += completed
        if self._records >= enough:
            self.settled = self.first

    def _forget(self) -> None:
        """It was restarted: the counters are of another process."""
        self._completed, self._busy_s, self._records = 0.0, 0.0, 0.0
