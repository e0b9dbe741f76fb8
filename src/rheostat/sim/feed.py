"""What the event loop is told of the input as time goes on: the rates that come next, and values that change places."""

import numpy as np

from rheostat.sim.build import CHUNK_SLOTS, set_weights
from rheostat.sim.engine.act import WAKE_SOURCES
from rheostat.sim.simulation import Simulation


class Feed:
    """Loads a chunk of rates at a time; sources stand still where it is known no further."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._rates = simulation.state.rates.view(np.ndarray)["rate"].reshape(-1, CHUNK_SLOTS)
        self.known_until_s = 0.0
        self.go_on()
        self._schedule_rotations()

    def go_on(self) -> None:
        """Tell the event loop the rates of the next chunk of time, each slot's rate taken at its middle."""
        simulation = self._simulation
        world, width, now_s = simulation.state.world[0], simulation.model.resolution_s, simulation.now_s
        world.chunk_start, world.chunk_width = now_s, width
        self.known_until_s = now_s + CHUNK_SLOTS * width
        times = now_s + (np.arange(CHUNK_SLOTS) + 0.5) * width
        for slots, name in zip(self._rates, simulation.model.topology.sources, strict=True):
            slots[:] = simulation.model.source(name).load.rates(times)
        simulation.act(WAKE_SOURCES)

    def _schedule_rotations(self) -> None:
        simulation = self._simulation
        for position, name in enumerate(simulation.model.topology.sources):
            source = simulation.model.source(name)
            if source.rotate_every_s > 0 and source.weights is not None:
                distribution = int(simulation.state.sources[position].value)
                self._rotate(source.weights, source.rotate_every_s, source.rotate_by, distribution)

    def _rotate(self, weights: np.ndarray, every_s: float, by: int, distribution: int) -> None:
        def turn() -> None:
            rotated = np.roll(weights, by)
            set_weights(self._simulation.state, distribution, rotated)
            self._rotate(rotated, every_s, by, distribution)

        self._simulation.agenda.at(self._simulation.now_s + every_s, turn)
