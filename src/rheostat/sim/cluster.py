"""The simulated cluster: a simulation with all that changes it, under a clock that only `advance` moves.

Mechanism only: what should happen is said by `plant`, which follows a plan.
"""

import numpy as np

from rheostat.names import OperatorName
from rheostat.sim.build import GROUPINGS, grouping_code, with_grouping
from rheostat.sim.engine.act import RESIZED
from rheostat.sim.executor_lifecycle import Staff
from rheostat.sim.failures import Failures
from rheostat.sim.feed import Feed
from rheostat.sim.model import SimModel
from rheostat.sim.moves import Moves
from rheostat.sim.pauses import Pauses
from rheostat.sim.simulation import Simulation


class Cluster(Simulation):
    """Executors, substreams and the records between them."""

    def __init__(self, model: SimModel, rng: np.random.Generator) -> None:
        super().__init__(model, rng)
        self.feed = Feed(self)
        self.pauses = Pauses(self)
        self.moves = Moves(self, self.pauses)
        self.staff = Staff(self, self.pauses, self.moves)
        self.failures = Failures(self, self.pauses, self.staff)

    def advance(self, until_s: float) -> None:
        """Let everything happen up to `until_s`."""
        while self.now_s < until_s:
            before_s = self.now_s
            self.run(min(until_s, self.agenda.next_time(), self.feed.known_until_s))
            self.fleet.pay(self.now_s - before_s)
            self.agenda.run_due(self.now_s)
            if self.now_s >= self.feed.known_until_s:
                self.feed.go_on()

    def is_grouped(self, operator: OperatorName, grouping: str | None) -> bool:
        """Whether the records of `operator` are spread as `grouping` says; None is the usual way."""
        if grouping is not None and grouping not in GROUPINGS:
            return False
        return bool(self.row(operator).grouping == grouping_code(self.model, operator, grouping))

    def regroup(self, operator: OperatorName, grouping: str | None) -> None:
        """Spread records that come from now on in another way; those in queues stay there."""
        position, code = self.position[operator], grouping_code(self.model, operator, grouping)
        if self.state.operators[position].grouping != code:
            self.go_on_with(with_grouping(self.state, position, code))
            self.act(RESIZED, position)
