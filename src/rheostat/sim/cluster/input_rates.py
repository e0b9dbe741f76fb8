"""Input rates of the sources, loaded into the event loop chunk by chunk, and rotations of the hot values."""

import numpy as np

from rheostat.sim.build import CHUNK_SLOTS, set_weights
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.engine.changes.commands import WAKE_SOURCES


class InputRates:
    """Loads one chunk of rates at a time; sources pause where the known rates end."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._rates = simulation.state.rates.view(np.ndarray)["rate"].reshape(-1, CHUNK_SLOTS)
        self.known_until_s = 0.0
        self.load_next_chunk()
        self._schedule_rotations()

    def load_next_chunk(self) -> None:
        """Give the event loop the rates of the next chunk of time, each slot's rate taken at its middle."""
        simulation = self._simulation
        world, width, now_s = simulation.state.world[0], simulation.model.resolution_s, simulation.now_s
        world.chunk_start, world.chunk_width = now_s, width
        self.known_until_s = now_s + CHUNK_SLOTS * width
        times = now_s + (np.arange(CHUNK_SLOTS) + 0.5) * width
        for slots, name in zip(self._rates, simulation.model.topology.sources, strict=True):
            slots[:] = simulation.model.source(name).load.rates(times)
        simulation.command(WAKE_SOURCES)

    def _schedule_rotations(self) -> None:
        simulation = self._simulation
        for position, name in enumerate(simulation.model.topology.sources):
            source = simulation.model.source(name)
            if source.rotate_every_s > 0 and source.weights is not None:
                distribution = int(simulation.state.sources[position].value)
                self._rotate(source.weights, source.rotate_every_s, source.rotate_by, distribution)

    def _rotate(self, weights: np.ndarray, every_s: float, by: int, distribution: int) -> None:
        def rotate() -> None:
            rotated = np.roll(weights, by)
            set_weights(self._simulation.state, distribution, rotated)
            self._rotate(rotated, every_s, by, distribution)

        self._simulation.timers.at(self._simulation.now_s + every_s, rotate)
