"""Sketches of costs by value, as OSG's executors learn them: `rheostat.grouping.costs`, compiled.

A task (one executor of one operator) has a range of `cells`: the sketches it fills, its snapshot, and the pair of
sketches it sent last, which all schedulers of the operator know.
"""

from typing import Any

from rheostat.sim.engine.grouping.executors import task_of
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState


@jit
def learn(s: EngineState, operator: int, executor: int, value: int, service_s: float) -> None:
    """`executor` took `service_s` for a tuple with `value`."""
    for row in range(at(s.operators, operator).sketch_rows):
        cell = _cell(s, operator, executor, row, value)
        cell.count += 1.0
        cell.time_s += service_s


@jit
def seconds(s: EngineState, operator: int, executor: int, value: int) -> float:
    """ŵ by the sketches that `executor` sent last: from the row with the smallest count; their mean if that is 0."""
    best = _cell(s, operator, executor, 0, value)
    for row in range(1, at(s.operators, operator).sketch_rows):
        cell = _cell(s, operator, executor, row, value)
        if cell.sent_count < best.sent_count:
            best = cell
    if best.sent_count == 0.0:
        return float(task_of(s, operator, executor).mean_s)
    return float(best.sent_time_s / best.sent_count)


@jit
def change(s: EngineState, operator: int, executor: int) -> float:
    """η of eq. 14, over the cells that were not empty when the snapshot was taken."""
    moved, total = 0.0, 0.0
    first = _first_cell(s, operator, executor)
    for index in range(_cells(s, operator)):
        cell = at(s.cells, first + index)
        if cell.snapshot_s >= 0.0:
            moved += abs(cell.snapshot_s - cell.time_s / cell.count)
            total += cell.snapshot_s
    if total > 0.0:
        return moved / total
    return 1.0 if moved > 0.0 else 0.0


@jit
def take_snapshot(s: EngineState, operator: int, executor: int) -> None:
    first = _first_cell(s, operator, executor)
    for index in range(_cells(s, operator)):
        cell = at(s.cells, first + index)
        cell.snapshot_s = cell.time_s / cell.count if cell.count > 0.0 else -1.0


@jit
def send(s: EngineState, operator: int, executor: int) -> None:
    """Publish the sketches to the schedulers and start empty ones."""
    first, columns = _first_cell(s, operator, executor), at(s.operators, operator).sketch_columns
    count, time_s = 0.0, 0.0
    for index in range(_cells(s, operator)):
        cell = at(s.cells, first + index)
        if index < columns:
            count += cell.count
            time_s += cell.time_s
        cell.sent_count = cell.count
        cell.sent_time_s = cell.time_s
        _clear(cell)
    task_of(s, operator, executor).mean_s = time_s / count


@jit
def send_scaled(s: EngineState, operator: int, executor: int, factor: float) -> None:
    """Publish the sketches sent last with `factor` times their times, and start empty ones."""
    first = _first_cell(s, operator, executor)
    for index in range(_cells(s, operator)):
        cell = at(s.cells, first + index)
        cell.sent_time_s *= factor
        _clear(cell)
    task_of(s, operator, executor).mean_s *= factor


@jit
def _clear(cell: Any) -> None:
    cell.count = 0.0
    cell.time_s = 0.0
    cell.snapshot_s = -1.0


@jit
def _cell(s: EngineState, operator: int, executor: int, row: int, value: int) -> Any:
    it = at(s.operators, operator)
    function = at(s.hashes, it.first_hash + row)
    column = (function.factor * value + function.offset) % s.world.hash_prime % it.sketch_columns
    return at(s.cells, _first_cell(s, operator, executor) + row * it.sketch_columns + column)


@jit
def _first_cell(s: EngineState, operator: int, executor: int) -> int:
    return int((at(s.operators, operator).slot * s.world.width + executor) * s.world.sketch_cells)


@jit
def _cells(s: EngineState, operator: int) -> int:
    return int(at(s.operators, operator).sketch_rows * at(s.operators, operator).sketch_columns)
