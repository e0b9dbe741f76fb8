"""Barrier: executors do what they have, wait for the slowest of them, and pause together."""

from collections.abc import Callable, Sequence

from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.cluster.pauses import Pauses
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.engine.tables.codes import NONE, UNBOUNDED
from rheostat.snapshot import ExecutorPhase

_RETRY_S = 0.01


def align(
    simulation: Simulation,
    pauses: Pauses,
    executors: Sequence[SimExecutor],
    then: Callable[[Sequence[SimExecutor]], None],
) -> None:
    """Let `executors` do what they have now; when the last is done, all are paused and `then` is called with them.

    One that fails meanwhile is not waited for: what it has waits for the one in its place.
    """
    for executor in executors:
        row = simulation.state.executors[executor.index]
        row.barrier = row.arrived

    def check() -> None:
        late = [executor for executor in executors if _is_working(simulation, executor)]
        if late:
            simulation.timers.at(max(_next_step_s(simulation, executor) for executor in late), check)
            return
        present = [executor for executor in executors if simulation.registry.has(executor)]
        pauses.pause(present)
        for executor in present:
            simulation.state.executors[executor.index].barrier = UNBOUNDED
        then(present)

    check()


def _is_working(simulation: Simulation, executor: SimExecutor) -> bool:
    """Whether `executor` serves and has not come to its barrier."""
    if not simulation.registry.has(executor) or executor.phase not in (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING):
        return False
    row = simulation.state.executors[executor.index]
    return bool(row.current != NONE or row.completed + row.handed_on < row.barrier)


def _next_step_s(simulation: Simulation, executor: SimExecutor) -> float:
    """When `executor` is done with its record; if it is paused, when that may be over."""
    row = simulation.state.executors[executor.index]
    if row.current != NONE:
        return float(row.done)
    return max(float(row.away_until), simulation.now_s + _RETRY_S)
