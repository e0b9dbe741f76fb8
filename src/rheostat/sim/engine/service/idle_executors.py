"""Idle executors: the list of those that wait for work from a shared queue."""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service.barrier import rests
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def take(s: EngineState, home: int) -> int:
    """An idle executor, or NONE.

    Executors that were paused or got other work since they were listed are skipped; they are listed again later.
    """
    it = at(s.operators, home)
    while it.idles > 0:
        it.idles -= 1
        index = at(s.idle, home * s.world.width + it.idles).executor
        executor = at(s.executors, index)
        executor.listed = 0
        if executor.current == NONE and not rests(executor):
            return index
    return NONE


@jit
def enlist(s: EngineState, executor: int) -> None:
    """List `executor` as idle."""
    it = at(s.executors, executor)
    if not it.listed:
        it.listed = 1
        home = at(s.operators, it.home)
        at(s.idle, it.home * s.world.width + home.idles).executor = executor
        home.idles += 1
