"""OSG in the event loop: `rheostat.grouping.osg`, compiled. Tests compare the two.

Schedulers choose executors by their estimated work; executors learn costs and report them.
"""

import math
from typing import Any

from rheostat.grouping.osg.task import STANDARD_ERRORS
from rheostat.sim.engine.grouping import sketches
from rheostat.sim.engine.grouping.executors import server, task_of
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState

# States of a scheduler, as in DABS-Storm's figure 7a.
ROUND_ROBIN, SEND_ALL, WAIT_ALL, RUN = 0, 1, 2, 3


@jit
def choose(s: EngineState, i: int, operator: int) -> int:
    """The executor for tuple `i`, by the state of the scheduler that sends it."""
    scheduler = _scheduler(s, operator, at(s.tuples, i).scheduler)
    if scheduler.state == ROUND_ROBIN:
        return _next_in_its_turn(s, i, operator)
    if scheduler.state == SEND_ALL:
        return _ask(s, i, operator)
    executor = _least_loaded(s, operator, at(s.tuples, i).scheduler)
    _load(s, operator, at(s.tuples, i).scheduler, executor).load_s += sketches.seconds(
        s, operator, executor, at(s.tuples, i).value
    )
    return executor


@jit
def has_learned(s: EngineState, operator: int) -> bool:
    """Whether every executor has reported the costs of values."""
    return bool(_scheduler(s, operator, 0).state != ROUND_ROBIN)


@jit
def completed(s: EngineState, i: int, executor: int) -> None:
    """`executor` has processed tuple `i`: it learns, answers the request sent with it, and may send its sketches."""
    done = at(s.tuples, i)
    it, task = at(s.operators, done.operator), task_of(s, done.operator, executor)
    _load(s, done.operator, done.scheduler, executor).done_s += done.service_s
    _note_deviation(s, i, executor)
    sketches.learn(s, done.operator, executor, done.value, done.service_s)
    if done.epoch == _scheduler(s, done.operator, done.scheduler).epoch:
        _reply(s, i, executor)
    if task.since_look >= it.sketch_least and s.world.now - task.look >= it.sketch_window_s:
        _look(s, done.operator, executor)


@jit
def resized(s: EngineState, operator: int) -> None:
    """Tasks started or stopped: loads count from zero, round robin until all have reported their costs."""
    it = at(s.operators, operator)
    for number in range(it.schedulers):
        scheduler = _scheduler(s, operator, number)
        scheduler.state = ROUND_ROBIN
        scheduler.turn = 0
        scheduler.epoch += 1
        for position in range(it.servers):
            load = _load(s, operator, number, server(s, operator, position))
            load.load_s = 0.0
            load.done_s = 0.0
        if _all_known(s, operator):
            _synchronise(s, operator, number)


# --- the scheduler ---------------------------------------------------------------------------------------------


@jit
def _scheduler(s: EngineState, operator: int, number: int) -> Any:
    return at(s.schedulers, at(s.operators, operator).slot * s.world.schedulers + number)


@jit
def _load(s: EngineState, operator: int, number: int, executor: int) -> Any:
    scheduler = at(s.operators, operator).slot * s.world.schedulers + number
    return at(s.loads, scheduler * s.world.width + executor)


@jit
def _next_in_its_turn(s: EngineState, i: int, operator: int) -> int:
    scheduler = _scheduler(s, operator, at(s.tuples, i).scheduler)
    position = scheduler.turn if scheduler.turn < at(s.operators, operator).servers else 0
    scheduler.turn = position + 1
    return server(s, operator, position)


@jit
def _ask(s: EngineState, i: int, operator: int) -> int:
    """SEND ALL: the n-th tuple goes to the n-th executor with that executor's estimated load."""
    asking = at(s.tuples, i)
    scheduler = _scheduler(s, operator, asking.scheduler)
    executor = server(s, operator, scheduler.asked)
    load = _load(s, operator, asking.scheduler, executor)
    load.load_s += sketches.seconds(s, operator, executor, asking.value)
    asking.epoch = scheduler.epoch
    asking.claimed_s = load.load_s
    scheduler.asked += 1
    if scheduler.asked == at(s.operators, operator).servers:
        scheduler.state = WAIT_ALL
    return executor


@jit
def _least_loaded(s: EngineState, operator: int, number: int) -> int:
    chosen = server(s, operator, 0)
    for position in range(1, at(s.operators, operator).servers):
        executor = server(s, operator, position)
        if _load(s, operator, number, executor).load_s < _load(s, operator, number, chosen).load_s:
            chosen = executor
    return chosen


@jit
def _reply(s: EngineState, i: int, executor: int) -> None:
    """Tell the scheduler Δ; with the last reply of its epoch it corrects all loads."""
    done = at(s.tuples, i)
    scheduler = _scheduler(s, done.operator, done.scheduler)
    load = _load(s, done.operator, done.scheduler, executor)
    load.correction_s = load.done_s - done.claimed_s
    scheduler.replied += 1
    if scheduler.replied == at(s.operators, done.operator).servers:
        for position in range(scheduler.replied):
            load = _load(s, done.operator, done.scheduler, server(s, done.operator, position))
            load.load_s += load.correction_s
        scheduler.state = RUN


@jit
def _synchronise(s: EngineState, operator: int, number: int) -> None:
    scheduler = _scheduler(s, operator, number)
    scheduler.state = SEND_ALL
    scheduler.epoch += 1
    scheduler.asked = 0
    scheduler.replied = 0


@jit
def _all_known(s: EngineState, operator: int) -> bool:
    for position in range(at(s.operators, operator).servers):
        if not task_of(s, operator, server(s, operator, position)).known:
            return False
    return True


# --- the task --------------------------------------------------------------------------------------------------


@jit
def _note_deviation(s: EngineState, i: int, executor: int) -> None:
    """Compare the time of tuple `i` with what the sketches sent last would have said."""
    done = at(s.tuples, i)
    task = task_of(s, done.operator, executor)
    task.since_look += 1
    if task.known:
        expected_s = sketches.seconds(s, done.operator, executor, done.value)
        excess_s = done.service_s - expected_s
        task.expected_s += expected_s
        task.excess_s += excess_s
        task.excess_squares += excess_s * excess_s


@jit
def _look(s: EngineState, operator: int, executor: int) -> None:
    """Send the last sketches at another speed; else, if little has changed since the snapshot, the present ones."""
    it, task = at(s.operators, operator), task_of(s, operator, executor)
    if _has_another_speed(s, operator, executor):
        sketches.send_scaled(s, operator, executor, 1.0 + task.excess_s / task.expected_s)
        _sent(s, operator, executor)
    elif task.stabilizing and sketches.change(s, operator, executor) <= it.sketch_tolerance:
        sketches.send(s, operator, executor)
        _sent(s, operator, executor)
    else:
        sketches.take_snapshot(s, operator, executor)
        task.stabilizing = 1
    task.since_look = 0
    task.look = s.world.now
    task.expected_s = 0.0
    task.excess_s = 0.0
    task.excess_squares = 0.0


@jit
def _has_another_speed(s: EngineState, operator: int, executor: int) -> bool:
    """Whether the time since the last look differs by more than the tolerance and by more than chance."""
    task = task_of(s, operator, executor)
    if not task.known or abs(task.excess_s) <= at(s.operators, operator).sketch_tolerance * task.expected_s:
        return False
    return bool(abs(task.excess_s) > STANDARD_ERRORS * math.sqrt(task.excess_squares))


@jit
def _sent(s: EngineState, operator: int, executor: int) -> None:
    """The schedulers have new sketches of `executor`: loads are synchronised again."""
    task = task_of(s, operator, executor)
    task.stabilizing = 0
    task.known = 1
    for number in range(at(s.operators, operator).schedulers):
        if _scheduler(s, operator, number).state != ROUND_ROBIN or _all_known(s, operator):
            _synchronise(s, operator, number)
