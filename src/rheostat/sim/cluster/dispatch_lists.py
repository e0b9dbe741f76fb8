"""Dispatch lists: the event loop's lists of the executors that serve an operator."""

from collections.abc import Iterable, Sequence

import numpy as np

from rheostat.names import OperatorName
from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.engine.changes import commands
from rheostat.sim.engine.tables import codes


def enlist(simulation: Simulation, executor: SimExecutor, operators: Sequence[OperatorName]) -> None:
    """From now on records of `operators` may reach `executor`."""
    state = simulation.state
    row = state.executors[executor.index]
    row.accepting = 1
    row.home = _shared_home(simulation, operators)
    for name in operators:
        operator = simulation.position[name]
        served = state.operators[operator]
        state.server.executor[operator * state.world[0].width + served.servers] = executor.index
        served.servers += 1
        simulation.command(commands.RESIZED, operator)


def _shared_home(simulation: Simulation, operators: Sequence[OperatorName]) -> int:
    """The first of the operators with a shared queue; its lists serve them all."""
    positions = [simulation.position[name] for name in operators]
    sharing = [each for each in positions if simulation.state.operators[each].mode == codes.SHARED_QUEUE]
    home = sharing[0] if sharing else codes.NONE
    simulation.state.operators.home[sharing] = home
    return home


def delist(simulation: Simulation, executor: SimExecutor, operators: Iterable[OperatorName]) -> None:
    """From now on records of `operators` no longer go to `executor`."""
    state = simulation.state
    row = state.executors[executor.index]
    row.accepting = row.listed = 0
    for name in operators:
        operator = simulation.position[name]
        for table, count in (("server", "servers"), ("idle", "idles")):
            _take_from_list(simulation, getattr(state, table).executor, count, operator, executor.index)
        simulation.command(commands.RESIZED, operator)


def _take_from_list(simulation: Simulation, column: np.ndarray, count: str, operator: int, index: int) -> None:
    start = operator * int(simulation.state.world[0].width)
    length = int(simulation.state.operators[operator][count])
    kept = [each for each in column[start : start + length] if each != index]
    column[start : start + len(kept)] = kept
    simulation.state.operators[operator][count] = len(kept)


def wake(simulation: Simulation, operator: OperatorName) -> None:
    """Start work that waited for an executor, also waiting tasks of a batch under way."""
    row, position = simulation.row(operator), simulation.position[operator]
    if row.mode == codes.MICRO_BATCH:
        simulation.command(commands.JOIN_BATCH, position)
        simulation.command(commands.TRIGGER, position)
    elif row.grouping != codes.BY_KEY:
        simulation.command(commands.DISPATCH_WAITING, position)
