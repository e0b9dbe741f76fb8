"""One operator over time: how it is looked at, and what the last look showed."""

from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.plan import Plan
from rheostat.policies.batch_cost import BatchCosts
from rheostat.policies.streamswitch.examine import Examiner, State
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.settings import Timing, least_bound_s, timing
from rheostat.policies.streamswitch.turns import Turns
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator


class NotKnownError(Exception):
    """Why nothing can be said about an operator at this turn, in words."""


class Patient:
    """`state` is what the look of this turn showed, None when no slot ends with it; `problem` is a wrong setting that
    keeps it from being looked at; `batched` says that it runs in micro-batches."""

    def __init__(self, operator: Operator, options: StreamSwitchOptions, window_s: float) -> None:
        self.costs = BatchCosts()
        self.batched = False
        self.state: State | None = None
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

    def examine(self, snapshot: Snapshot, plan: Plan, turns: Turns) -> None:
        """Look at it, if a slot ends with this turn."""
        state = snapshot.operators.get(self._name)
        batch = None if state is None else state.batch
        self.batched = self.batched or batch is not None
        self._size = plan.size(self._name)
        self.costs.see(batch, self._size, snapshot.executors_of(plan.pool_of[self._name]))
        self.state, self.problem = None, None
        if turns.period_s is None:
            return
        try:
            wanted = timing(self._options, self._window_s, turns.period_s, self.batch_cost_s)
        except ConfigError as error:
            self.problem = str(error)
            return
        self.state = self._prepared(wanted, turns.era).look(turns.number, snapshot)

    @property
    def seen(self) -> State:
        """What this turn's look showed; a look that showed nothing usable is an error."""
        if self.state is None:
            raise NotKnownError("in the middle of a time slot")
        return self.state

    def check(self) -> None:
        """Raise why it cannot be diagnosed now, if it cannot: a state with gaps at its end is not valid (4.3)."""
        name = self._name
        if self.problem is not None:
            raise ConfigError(self.problem)
        if self.seen.unknown:
            unknown = ", ".join(map(str, self.seen.unknown[:8]))
            raise NotKnownError(f"the counts of {name!r} are not known (substreams {unknown})")
        if not self.seen.measured:
            raise NotKnownError(f"the arrival rates of {name!r} are not known yet")
        if self.batched and self.batch_cost_s is None:
            raise NotKnownError(f"too few batches of {name!r} have ended yet")

    def _prepared(self, wanted: Timing, era: int) -> Examiner:
        """Slots only grow: what was seen would be lost each time that batches take a little shorter or longer."""
        if self._examiner is None or self._era != era or wanted.turns > self._examiner.timing.turns:
            self._examiner, self._era = Examiner(self._operator, wanted), era
        return self._examiner
