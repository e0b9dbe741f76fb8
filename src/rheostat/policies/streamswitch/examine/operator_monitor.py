"""Operator monitor: one operator over time, with its batch costs and what the last time slot showed."""

from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.plan import Plan
from rheostat.policies.batch_cost import BatchCosts
from rheostat.policies.observation import NotMeasuredError
from rheostat.policies.streamswitch.examine.examiner import ExaminedOperator, Examiner
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.settings import Timing, least_bound_s, timing
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator


class TurnCounter:
    """Numbers the turns of the loop by the times of the snapshots alone: a policy reads no clock.

    `period_s` is the shortest time between two snapshots, jitter apart; turns that were skipped are counted. `era`
    changes when the period turns out to be shorter than it seemed, and the numbers start again. `advanced` is false at
    the first turn, and when the time has not advanced since the last one.
    """

    def __init__(self) -> None:
        self.period_s: float | None = None
        self.number = 0
        self.era = 0
        self.advanced = False
        self._time_s: float | None = None

    def update(self, time_s: float) -> None:
        interval_s = 0.0 if self._time_s is None else time_s - self._time_s
        self._time_s, self.advanced = time_s, interval_s > 0
        if not self.advanced:
            return
        if self.period_s is None or interval_s < 0.75 * self.period_s:
            self.period_s, self.number, self.era = interval_s, 0, self.era + 1
        else:
            self.number += max(1, round(interval_s / self.period_s))


class OperatorMonitor:
    """`state` is what this turn showed, None when no time slot ends with it; `problem` is a wrong setting that keeps
    the operator from being examined; `batched` says that it runs in micro-batches."""

    def __init__(self, operator: Operator, options: StreamSwitchOptions, window_s: float) -> None:
        self.costs = BatchCosts()
        self.batched = False
        self.state: ExaminedOperator | None = None
        self.problem: str | None = None
        self._operator, self._name = operator, OperatorName(operator.name)
        self._options = options
        self._window_s = window_s
        self._examiner: Examiner | None = None
        self._era = 0
        self._size = 1

    @property
    def floor_s(self) -> float:
        """What a latency bound of this operator must exceed."""
        return least_bound_s(self.batch_cost_s)

    @property
    def batch_cost_s(self) -> float | None:
        """What a batch costs beside its work; None where there are no batches, or too few have ended yet."""
        return self.costs.at(self._size)

    def update(self, snapshot: Snapshot, plan: Plan, turns: TurnCounter) -> None:
        """Examine the operator, if a time slot ends with this turn."""
        state = snapshot.operators.get(self._name)
        batch = None if state is None else state.batch
        self.batched = self.batched or batch is not None
        self._size = plan.size(self._name)
        self.costs.update(batch, self._size, snapshot.executors_of(plan.pool_of[self._name]))
        self.state, self.problem = None, None
        if turns.period_s is None or not turns.advanced:
            return
        try:
            wanted = timing(self._options, self._window_s, turns.period_s, self.batch_cost_s)
        except ConfigError as error:
            self.problem = str(error)
            return
        self.state = self._prepared(wanted, turns.era).examine(turns.number, snapshot)

    @property
    def examined(self) -> ExaminedOperator:
        """What this turn showed; an error when no time slot ends with it."""
        if self.state is None:
            raise NotMeasuredError("the time slot has not ended yet")
        return self.state

    def check(self) -> None:
        """Raise why the operator cannot be diagnosed now, if it cannot: unknown counts make a state invalid (4.3)."""
        name = self._name
        if self.problem is not None:
            raise ConfigError(self.problem)
        if self.examined.unknown:
            unknown = ", ".join(map(str, self.examined.unknown[:8]))
            raise NotMeasuredError(f"the counters of {name!r} were not measured (substreams {unknown})")
        if not self.examined.measured:
            raise NotMeasuredError(f"the arrival rates of {name!r} were not measured yet")
        if self.batched and self.batch_cost_s is None:
            raise NotMeasuredError(f"too few batches of {name!r} have ended to know what one costs")

    def _prepared(self, wanted: Timing, era: int) -> Examiner:
        """Time slots only grow: otherwise everything would be lost whenever batches get a little shorter or longer."""
        if self._examiner is None or self._era != era or wanted.turns > self._examiner.timing.turns:
            self._examiner, self._era = Examiner(self._operator, wanted), era
        return self._examiner
