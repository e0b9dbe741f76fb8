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
    """An interval ends: read each executor's utilisation and service time over it.

    The utilisation is averaged with the one before: as printed, deviations never become smaller.
    """
    it = at(s.operators, operator)
    elapsed = s.world.now - it.interval_start
    usual = _usual(s, operator, elapsed)
    for position in range(it.servers):
        executor = server(s, operator, position)
        task, row = task_of(s, operator, executor), at(s.executors, executor)
        busy = row.busy_s if row.current == NONE else row.busy_s + s.world.now - row.started
        done = row.completed - task.mark_completed
        is_new = task.mark_busy_s == 0.0 and task.mark_completed == 0
        used = usual if is_new and usual >= 0.0 else (busy - task.mark_busy_s) / elapsed
        task.smoothed = used if is_new else (task.smoothed + used) / 2.0
        task.used = task.smoothed
        if done > 0:
            task.step = (busy - task.mark_busy_s) / done / it.interval_s
        task.mark_busy_s = busy
        task.mark_completed = row.completed
    it.interval_start = s.world.now
    _fill_in(s, operator)


@jit
def _usual(s: EngineState, operator: int, elapsed: float) -> float:
    """The mean utilisation of the executors that were read before; -1 where there are none."""
    total, known = 0.0, 0
    for position in range(at(s.operators, operator).servers):
        executor = server(s, operator, position)
        task, row = task_of(s, operator, executor), at(s.executors, executor)
        if task.mark_busy_s > 0.0 or task.mark_completed > 0:
            busy = row.busy_s if row.current == NONE else row.busy_s + s.world.now - row.started
            total += (busy - task.mark_busy_s) / elapsed
            known += 1
    return total / known if known > 0 else -1.0


@jit
def resized(s: EngineState, operator: int) -> None:
    """Executors started or stopped serving; a new one counts as busy and as fast as the others until measured."""
    _fill_in(s, operator)


@jit
def _fill_in(s: EngineState, operator: int) -> None:
    """Assume the means of the known service times and utilisations where they are not known.

    A new executor that counted as idle would get everything until it is as busy as the others, all at once.
    """
    it = at(s.operators, operator)
    total, used, known = 0.0, 0.0, 0
    for position in range(it.servers):
        task = task_of(s, operator, server(s, operator, position))
        if task.step > 0.0:
            total += task.step
            used += task.used
            known += 1
    for position in range(it.servers):
        task = task_of(s, operator, server(s, operator, position))
        if known == 0:
            task.used = 0.0
        elif task.step == 0.0:
            task.step = total / known
            task.used = used / known
