"""Service by an executor, one tuple after the other: receive, start, stop, take the next."""

from rheostat.sim.engine import draw
from rheostat.sim.engine.calendar import DONE, push
from rheostat.sim.engine.flow.distance import receiving_s
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import cores, idle_executors, io, queue, substreams
from rheostat.sim.engine.service.barrier import rests
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def enqueue(s: EngineState, now: float, executor: int, i: int) -> None:
    """Give tuple `i` to `executor`, which starts on it at once if it is free."""
    it = at(s.executors, executor)
    it.arrived += 1
    if it.current == NONE and it.queued == 0 and not rests(it):
        serve(s, now, executor, i)
    else:
        queue.append(s, it, i)


@jit
def serve(s: EngineState, now: float, executor: int, i: int) -> None:
    """Let the idle `executor` serve tuple `i`."""
    at(s.executors, executor).done_code = push(s, start(s, now, executor, i), DONE, executor)


@jit
def start(s: EngineState, now: float, executor: int, i: int) -> float:
    """Begin the service of tuple `i`, which its node may have to read first; returns when it will be done."""
    it = at(s.executors, executor)
    tuple_ = at(s.tuples, i)
    cores.occupy(s, it.node)
    work = draw.service_s(s, tuple_.operator, tuple_.value) + receiving_s(s, tuple_.sender, executor)
    it.read_at = io.read_until(s, now, i, executor)
    time = it.read_at - now + work / it.speed * cores.crowding(s, it.node)
    tuple_.service_s = time
    note_service(s, tuple_.operator, time)
    if tuple_.substream != NONE:
        substreams.begin(s, tuple_.substream, executor)
    it.current = i
    it.started = now
    it.done = now + time
    return it.done


@jit
def note_service(s: EngineState, operator: int, time: float) -> None:
    it = at(s.operators, operator)
    it.service_count += 1
    it.service_sum += time
    it.service_squares += time * time


@jit
def stop(s: EngineState, now: float, executor: int) -> None:
    """`executor` is no longer busy with its tuple, which is done or interrupted."""
    it = at(s.executors, executor)
    it.busy_s += now - it.started
    it.io_s += min(now, it.read_at) - it.started
    cores.vacate(s, it.node)
    substream = at(s.tuples, it.current).substream
    if substream != NONE:
        at(s.substreams, substream).serving = NONE
    it.current = NONE
    it.done_code = NONE


@jit
def take_next(s: EngineState, executor: int) -> int:
    """The next tuple for `executor`, from its own queue or the shared one; NONE leaves it idle."""
    it = at(s.executors, executor)
    if rests(it):
        return NONE
    if it.queued > 0:
        return queue.take(s, it)
    if it.home == NONE or not it.accepting:
        return NONE
    home = at(s.operators, it.home)
    if home.queued > 0:
        it.arrived += 1
        return queue.take(s, home)
    idle_executors.enlist(s, executor)
    return NONE
