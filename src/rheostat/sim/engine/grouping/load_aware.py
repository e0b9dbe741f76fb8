"""Load-aware grouping (PA-SPS Algorithm 1) in the event loop: `rheostat.grouping.load_aware`, compiled."""

from rheostat.sim.engine.grouping.executors import next_round_robin, server, task_of
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def choose(s: EngineState, operator: int) -> int:
    """The least utilised executor; round robin where all are full or all are equal."""
    it = at(s.operators, operator)
    if s.world.now - it.interval_start >= it.interval_s:
        _read(s, operator)
    chosen = server(s, operator, 0)
    least = most = task_of(s, operator, chosen).used
    for position in range(1, it.servers):
        executor = server(s, operator, position)
        used = task_of(s, operator, executor).used
        most = max(most, used)
        if used < least:
            least, chosen = used, executor
    if least >= 1.0 or least == most:
        return next_round_robin(s, operator)
    task = task_of(s, operator, chosen)
    task.used += task.step
    return chosen


@jit
def _read(s: EngineState, operator: int) -> None:
    """An interval ends: read each executor's utilisation and service time over it."""
    it = at(s.operators, operator)
    elapsed = s.world.now - it.interval_start
    for position in range(it.servers):
        executor = server(s, operator, position)
        task, row = task_of(s, operator, executor), at(s.executors, executor)
        busy = row.busy_s if row.current == NONE else row.busy_s + s.world.now - row.started
        done = row.completed - task.mark_completed
        task.used = (busy - task.mark_busy_s) / elapsed
        if done > 0:
            task.step = (busy - task.mark_busy_s) / done / it.interval_s
        task.mark_busy_s = busy
        task.mark_completed = row.completed
    it.interval_start = s.world.now
    _fill_in(s, operator)


@jit
def resized(s: EngineState, operator: int) -> None:
    """Executors started or stopped serving; a new one counts as idle, and as fast as the others until measured."""
    _fill_in(s, operator)


@jit
def _fill_in(s: EngineState, operator: int) -> None:
    """Assume the mean of the known service times for executors whose service time is not known."""
    it = at(s.operators, operator)
    total, known = 0.0, 0
    for position in range(it.servers):
        step = task_of(s, operator, server(s, operator, position)).step
        total += step
        known += step > 0.0
    for position in range(it.servers):
        task = task_of(s, operator, server(s, operator, position))
        if known == 0:
            task.used = 0.0
        elif task.step == 0.0:
            task.step = total / known
