"""The list of executors that have nothing to do and would help themselves from a shared queue."""

from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def take(s: State, home: int) -> int:
    """An executor that has nothing to do, or NONE.

    Those that were paused or got other work since they were listed are passed over; they list themselves again.
    """
    it = at(s.operators, home)
    while it.idles > 0:
        it.idles -= 1
        index = at(s.idle, home * s.world.width + it.idles).executor
        executor = at(s.executors, index)
        executor.listed = 0
        if executor.current == NONE and executor.paused == 0:
            return index
    return NONE


@jit
def enlist(s: State, executor: int) -> None:
    """`executor` has nothing to do from now on."""
    it = at(s.executors, executor)
    if not it.listed:
        it.listed = 1
        home = at(s.operators, it.home)
        at(s.idle, it.home * s.world.width + home.idles).executor = executor
        home.idles += 1
