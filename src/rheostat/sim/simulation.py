"""A model under way: its tables, the clock over them, what is to be done when, and who is there."""

import numpy as np

from rheostat.errors import PlantError
from rheostat.names import OperatorName
from rheostat.sim.agenda import Agenda
from rheostat.sim.build import build
from rheostat.sim.engine.act import act
from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.heap import SUBJECT_BITS
from rheostat.sim.engine.jit import addressed
from rheostat.sim.engine.memory import with_more_tuples
from rheostat.sim.engine.run import NEEDS_MEMORY, run
from rheostat.sim.engine.state import State
from rheostat.sim.fleet import Fleet
from rheostat.sim.model import SimModel

MOST_RECORDS = 1 << SUBJECT_BITS


class Simulation:
    """The event loop as Python sees it. Whatever changes the cluster works on this, between two calls of `run`."""

    def __init__(self, model: SimModel, rng: np.random.Generator) -> None:
        self.model = model
        self.rng = rng
        self.agenda = Agenda()
        self.fleet = Fleet()
        self.position = {name: index for index, name in enumerate(model.topology.operators)}
        self.switching_events = 0
        self.switching_s = 0.0
        self.switching_executor_s = 0.0
        self.go_on_with(build(model, rng))
        self._now = self.state.world.view(np.ndarray)["now"]

    @property
    def now_s(self) -> float:
        return float(self._now[0])

    def go_on_with(self, state: State) -> None:
        """Use `state`, which is the present one with more room, from now on."""
        self.state = state
        self._tables = addressed(state)

    def run(self, until_s: float) -> None:
        """Let records move up to `until_s`."""
        while run(self._tables, float(until_s)) == NEEDS_MEMORY:
            if len(self.state.tuples) >= MOST_RECORDS:
                raise PlantError(
                    f"{MOST_RECORDS:,} records are in the system after {self.now_s:g} s, which is all that can be "
                    "simulated: lower the load, bound the queues (capacity), or add executors"
                )
            self.go_on_with(with_more_tuples(self.state))

    def act(self, verb: int, subject: int = NONE, target: int = NONE) -> None:
        """Do one of the verbs of `engine.act` to the records, now."""
        act(self._tables, verb, int(subject), int(target))

    def row(self, operator: OperatorName) -> np.record:
        """The record of an operator in the tables."""
        return self.state.operators[self.position[operator]]  # type: ignore[no-any-return]

    def substreams(self, operator: OperatorName) -> slice:
        """Where an operator's substreams are among all."""
        row = self.row(operator)
        return slice(int(row.first_substream), int(row.first_substream + row.substreams))
