"""Cluster: a simulation with everything that changes it, under a clock that only `advance` moves.

It is mechanism only: `plant`, which follows a plan, decides what happens.
"""

import numpy as np

from rheostat.names import OperatorName
from rheostat.sim.build import GROUPINGS, grouping_code, with_grouping
from rheostat.sim.cluster.executor_lifecycle import ExecutorLifecycle
from rheostat.sim.cluster.failures import Failures
from rheostat.sim.cluster.input_rates import InputRates
from rheostat.sim.cluster.pauses import Pauses
from rheostat.sim.cluster.service_costs import ServiceCosts
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.cluster.substream_moves import SubstreamMoves
from rheostat.sim.engine.changes.commands import RESIZED
from rheostat.sim.model import SimModel


class Cluster(Simulation):
    """Executors, substreams and the records between them."""

    def __init__(self, model: SimModel, rng: np.random.Generator) -> None:
        super().__init__(model, rng)
        self.input_rates = InputRates(self)
        self.service_costs = ServiceCosts(self)
        self.pauses = Pauses(self)
        self.moves = SubstreamMoves(self, self.pauses)
        self.lifecycle = ExecutorLifecycle(self, self.pauses, self.moves)
        self.failures = Failures(self, self.pauses, self.lifecycle)

    def advance(self, until_s: float) -> None:
        """Simulate up to `until_s`."""
        while self.now_s < until_s:
            before_s = self.now_s
            self.run(min(until_s, self.timers.next_time(), self.input_rates.known_until_s))
            self.registry.add_time(self.now_s - before_s)
            self.timers.run_due(self.now_s)
            if self.now_s >= self.input_rates.known_until_s:
                self.input_rates.load_next_chunk()

    def is_grouped(self, operator: OperatorName, grouping: str | None) -> bool:
        """Whether the records of `operator` are spread as `grouping` says; None is the usual way."""
        if grouping is not None and grouping not in GROUPINGS:
            return False
        return bool(self.row(operator).grouping == grouping_code(self.model, operator, grouping))

    def regroup(self, operator: OperatorName, grouping: str | None) -> None:
        """Distribute records that arrive from now on in another way; those in queues stay there."""
        position, code = self.position[operator], grouping_code(self.model, operator, grouping)
        if self.state.operators[position].grouping != code:
            self.use_tables(with_grouping(self.state, position, code))
            self.command(RESIZED, position)
