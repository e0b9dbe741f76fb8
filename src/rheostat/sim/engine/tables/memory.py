"""Memory of the tables: allocated once, and enlarged when a table is full.

Places of tuples and roots are recycled through free lists, so memory grows with the number in the system, never with
the length of the run.
"""

from typing import NamedTuple

import numpy as np

from rheostat.sim.engine.latency_histogram import BINS
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.layout import initial_record, layout
from rheostat.sim.engine.tables.state import EngineState, Table


class Sizes(NamedTuple):
    """The number of records of each kind."""

    operators: int
    sources: int
    edges: int
    substreams: int
    nodes: int
    distributions: int
    aliases: int
    costs: int
    hashes: int = 0
    sketch_cells: int = 0
    schedulers: int = 1
    slots: int = 64
    executors: int = 16
    tuples: int = 1024
    roots: int = 1024


def allocate(z: Sizes) -> EngineState:
    """Tables with their initial values. Row 0 of `histogram` is the topology's latency, row 1 + i operator i's."""
    counts = {
        "world": 1,
        "chance": 8,
        "heap": z.tuples + z.executors + z.sources + 2 * z.operators + 8,
        "tuples": z.tuples,
        "roots": z.roots,
        "sources": z.sources,
        "rates": z.sources * z.slots,
        "producers": z.operators + z.sources,
        "edges": z.edges,
        "values": z.distributions,
        "alias": z.aliases,
        "cost": z.costs,
        "operators": z.operators,
        "server": z.operators * z.executors,
        "idle": z.operators * z.executors,
        "shares": z.operators * z.executors,
        "substreams": z.substreams,
        "executors": z.executors,
        "nodes": z.nodes,
        "histogram": (1 + z.operators) * BINS,
        "tasks": 0,
        "cells": 0,
        "schedulers": 0,
        "loads": 0,
        "hashes": z.hashes,
    }
    state = EngineState(**{name: _table(name, count) for name, count in counts.items()})
    world = state.world[0]
    world.operators, world.sources = z.operators, z.sources
    world.width, world.slots = z.executors, z.slots
    world.schedulers, world.sketch_cells = z.schedulers, z.sketch_cells
    state.operators.home = np.arange(len(state.operators))
    _link_free_tuples(state, 0)
    _link_free_roots(state, 0)
    return state


def with_more_tuples(state: EngineState) -> EngineState:
    """The same state with room for twice as many tuples and roots in the system."""
    tuples, roots = len(state.tuples), len(state.roots)
    wider = state._replace(
        tuples=_longer("tuples", state.tuples, tuples),
        roots=_longer("roots", state.roots, roots),
        heap=_longer("heap", state.heap, tuples),
    )
    _link_free_tuples(wider, tuples)
    _link_free_roots(wider, roots)
    return wider


def with_more_executors(state: EngineState) -> EngineState:
    """The same state with room for twice as many executors."""
    count, world = len(state.executors), state.world[0]
    wider = state._replace(
        executors=_longer("executors", state.executors, count),
        server=_wider_rows("server", state.server, count),
        idle=_wider_rows("idle", state.idle, count),
        shares=_wider_rows("shares", state.shares, count),
        heap=_longer("heap", state.heap, count),
    )
    if world.groupings:
        wider = wider._replace(
            tasks=_wider_rows("tasks", state.tasks, count),
            cells=_wider_rows("cells", state.cells, count * int(world.sketch_cells)),
            loads=_wider_rows("loads", state.loads, count),
        )
    world.width = 2 * count
    return wider


def with_memory_for_grouping(state: EngineState, operator: int) -> EngineState:
    """The same state with room for the memory of the grouping of `operator`."""
    world = state.world[0]
    if state.operators[operator].slot != NONE:
        return state
    slot, width = int(world.groupings), int(world.width)
    state.operators[operator].slot = slot
    world.groupings = slot + 1
    sizes = {
        "tasks": width,
        "cells": width * int(world.sketch_cells),
        "schedulers": int(world.schedulers),
        "loads": width * int(world.schedulers),
    }
    kept = {name: getattr(state, name)[: slot * size] for name, size in sizes.items()}
    return state._replace(**{name: _longer(name, kept[name], size) for name, size in sizes.items()})


def reset_executor(state: EngineState, executor: int) -> None:
    """Reset the record of `executor`, also in the memory of every grouping."""
    state.executors[executor] = initial_record("executors")
    width, cells = int(state.world[0].width), int(state.world[0].sketch_cells)
    state.shares[executor::width] = initial_record("shares")
    for slot in range(int(state.world[0].groupings)):
        task = slot * width + executor
        state.tasks[task] = initial_record("tasks")
        state.cells[task * cells : (task + 1) * cells] = initial_record("cells")


def _table(name: str, count: int) -> Table:
    """`count` initial records (at least one, so that every table has an address)."""
    table = np.empty(max(count, 1), dtype=layout(name)).view(np.recarray)
    table[:] = initial_record(name)
    return table


def _longer(name: str, table: Table, by: int) -> Table:
    return np.concatenate([table, _table(name, by)]).view(np.recarray)


def _wider_rows(name: str, table: Table, width: int) -> Table:
    wider = _table(name, 2 * len(table))
    wider.reshape(-1, 2 * width)[:, :width] = table.reshape(-1, width)
    return wider


def _link_free_tuples(state: EngineState, first: int) -> None:
    world, links = state.world[0], state.tuples.next
    world.free_tuple = _link(links, first, world.free_tuple)
    world.free_tuples += len(links) - first


def _link_free_roots(state: EngineState, first: int) -> None:
    world, links = state.world[0], state.roots.next
    world.free_root = _link(links, first, world.free_root)
    world.free_roots += len(links) - first


def _link(links: np.ndarray, first: int, head: int) -> int:
    """Chain `links[first:]` in front of the free list that starts at `head`; returns the new start."""
    links[first:-1] = np.arange(first + 1, len(links))
    links[-1] = head
    return first
