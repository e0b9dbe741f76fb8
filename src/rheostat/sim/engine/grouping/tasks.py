"""What a grouping remembers of one executor of one operator."""

from typing import Any

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def task_of(s: State, operator: int, executor: int) -> Any:
    return at(s.tasks, at(s.operators, operator).slot * s.world.width + executor)
