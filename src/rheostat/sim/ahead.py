"""Work that was counted when it began and is still ahead: whoever reads busy time takes it off."""

import numpy as np
from numpy.typing import NDArray

from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.state import State

Floats = NDArray[np.float64]


def ahead_in_batches_s(state: State) -> Floats:
    """What executors still have to do of their shares in batches: a row for each operator, a column for each executor.

    An executor works at the end of its time for a share; before that it waits for others or loads state.
    """
    left_s = np.maximum(state.shares["end"] - state.world[0].now, 0.0)
    ahead_s: Floats = np.minimum(left_s, state.shares["work_s"])
    return ahead_s.reshape(-1, int(state.world[0].width))


def ahead_in_service_s(state: State) -> Floats:
    """What is left of the services under way, by operator."""
    current = state.executors["current"]
    serving = current != NONE
    ahead_s = np.zeros(len(state.operators))
    left_s = state.executors["done"][serving] - state.world[0].now
    np.add.at(ahead_s, state.tuples["operator"][current[serving]], left_s)
    return ahead_s
