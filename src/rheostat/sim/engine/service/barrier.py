"""Barrier in an executor's queue: it does what arrived before, and rests until the barrier is lifted."""

from typing import Any

from rheostat.sim.engine.jit import jit


@jit
def rests(it: Any) -> bool:
    """Whether the executor with the record `it` starts nothing: it is paused, or has come to its barrier."""
    return it.paused > 0 or it.completed + it.handed_on >= it.barrier
