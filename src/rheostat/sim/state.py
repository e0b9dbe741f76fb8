"""The simulator's memory: a few arrays of records, so that the compiled event loop works without Python objects.

Indices stand for things: an operator, an executor, a substream (numbered through over all operators), a tuple in
the system, a root (one record that entered, with everything derived from it). -1 is "none". Arrays of tuples and
roots are recycled through free lists and grow with the number in the system, never with the length of the run.
"""

from typing import Any, NamedTuple

import numpy as np

from rheostat.grouping.hashes import PRIME
from rheostat.sim.histogram import BINS
from rheostat.sim.jit import reader_of

NONE = -1
UNBOUNDED = np.iinfo(np.int64).max

# How an operator serves.
OWN_QUEUES, SHARED_QUEUE, MICRO_BATCH = 0, 1, 2
# How an operator's records find an executor.
ROUND_ROBIN, RANDOM, BY_VALUE, BY_KEY, LOAD_AWARE, OSG, NEAREST, BATCH_GREEDY = 0, 1, 2, 3, 4, 5, 6, 7
# Service-time distributions.
FIXED, EXPONENTIAL, LOGNORMAL, UNIFORM = 0, 1, 2, 3
# How many records one record gives on a stream: whole part plus a coin, Poisson, or all or nothing.
ROUNDED, POISSON, BULK = 0, 1, 2

Table = Any
"""A numpy record array; its fields are the names in the dictionaries below."""


class State(NamedTuple):
    """Every table of the event loop. `world` has one record: the numbers that exist once."""

    world: Table
    chance: Table
    heap: Table
    tuples: Table
    roots: Table
    sources: Table
    rates: Table
    producers: Table
    edges: Table
    values: Table
    alias: Table
    cost: Table
    operators: Table
    server: Table
    idle: Table
    substreams: Table
    executors: Table
    nodes: Table
    histogram: Table
    tasks: Table
    cells: Table
    schedulers: Table
    loads: Table
    hashes: Table


class Sizes(NamedTuple):
    """How much there is of each kind of thing."""

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


_WORLD = {
    "now": 0.0,
    "operators": 0,
    "sources": 0,
    "width": 0,
    "slots": 0,
    "groupings": 0,
    "schedulers": 1,
    "sketch_cells": 0,
    "hash_prime": PRIME,
    "chunk_start": 0.0,
    "chunk_width": 1.0,
    "process_hop_s": 0.0,
    "node_hop_s": 0.0,
    "longest_hop_s": 0.0,
    "process_cost_s": 0.0,
    "node_cost_s": 0.0,
    "timeout_s": np.inf,
    "events": 0,
    "sequence": 0,
    "free_tuple": NONE,
    "free_tuples": 0,
    "free_root": NONE,
    "free_roots": 0,
    "entered": 0,
    "left": 0,
    "lost": 0,
    "late": 0,
    "disorder": 0,
    "overlap": 0,
    "latency_sum": 0.0,
    "latency_squares": 0.0,
    "latency_max": 0.0,
}
_HEAP = {"time": 0.0, "code": 0}
_TUPLE = {
    "arrival": 0.0,
    "root": 0,
    "operator": 0,
    "value": 0,
    "substream": NONE,
    "order": 0,
    "sender": NONE,
    "executor": NONE,
    "service_s": 0.0,
    "scheduler": 0,
    "epoch": NONE,
    "claimed_s": 0.0,
    "next": NONE,
    "next_in_substream": NONE,
}
_ROOT = {"entry": 0.0, "pending": 0, "lost": 0, "next": NONE}
# `left` is what remains of the gap to the next arrival, in operational time; bursts multiply the rate.
_SOURCE = {
    "scv": 1.0,
    "left": -1.0,
    "parked": 1,
    "value": NONE,
    "bursting": 0,
    "until": np.inf,
    "calm_factor": 1.0,
    "burst_factor": 1.0,
    "calm_s": np.inf,
    "burst_s": np.inf,
}
# Operators, then sources: each writes a slice of the edges; `exclusive` sends a record to one of them only.
_PRODUCER = {"first": 0, "last": 0, "exclusive": 0, "fanout": 0}
_EDGE = {"target": 0, "selectivity": 1.0, "emission": ROUNDED, "bulk": 1, "most": 1, "value": NONE, "rows": 0}
# Distributions of values, by Walker's alias tables that lie one behind the other.
_VALUES = {"start": 0, "length": 0}
_ALIAS = {"probability": 1.0, "other": 0}
# `home` is the operator whose lists of waiting tuples and idle executors are used: another one's in a shared pool.
# `slot` is where the tables below keep what its grouping remembers of each executor, if it remembers anything.
_OPERATOR = {
    "mode": OWN_QUEUES,
    "grouping": ROUND_ROBIN,
    "turn": 0,
    "slot": NONE,
    "interval_s": np.inf,
    "interval_start": 0.0,
    "schedulers": 1,
    "sketch_window": 0,
    "sketch_tolerance": 0.0,
    "sketch_rows": 0,
    "sketch_columns": 0,
    "first_hash": 0,
    "paused": 0,
    "home": NONE,
    "service_kind": FIXED,
    "service_a": 0.0,
    "service_b": 0.0,
    "cost_start": NONE,
    "capacity": UNBOUNDED,
    "first_substream": 0,
    "substreams": 0,
    "arrived": 0,
    "completed": 0,
    "lost": 0,
    "latency_sum": 0.0,
    "latency_squares": 0.0,
    "latency_max": 0.0,
    "last_arrival": -1.0,
    "gap_count": 0,
    "gap_sum": 0.0,
    "gap_squares": 0.0,
    "service_count": 0,
    "service_sum": 0.0,
    "service_squares": 0.0,
    "waiting_head": NONE,
    "waiting_tail": NONE,
    "waiting": 0,
    "servers": 0,
    "idles": 0,
    "batch_fixed_s": 0.0,
    "batch_task_s": 0.0,
    "batch_tasks": 0,
    "batch_trigger_s": 0.0,
    "batch_limit": UNBOUNDED,
    "batch_head": NONE,
    "batch_tail": NONE,
    "batch_rows": 0,
    "batch_code": NONE,
    "batch_started": -np.inf,
    "batch_count": 0,
    "batch_duration_s": 0.0,
    "batch_overhead_s": 0.0,
    "batch_task_count": 0,
}
# A substream is held, and its tuples are kept with it, until it has an owner.
_SUBSTREAM = {
    "owner": NONE,
    "serving": NONE,
    "held": 1,
    "held_head": NONE,
    "held_tail": NONE,
    "head": NONE,
    "tail": NONE,
    "arrived": 0,
    "completed": 0,
    "last": NONE,
    "latency": 0.0,
}
# What arrived is completed, handed on to another executor, or still there. `home` is the operator whose shared
# queue it serves, if any, and `listed` says that it stands in the list of idle ones there. `rows` are of batches.
_EXECUTOR = {
    "speed": 1.0,
    "node": NONE,
    "process": NONE,
    "home": NONE,
    "paused": 0,
    "accepting": 0,
    "listed": 0,
    "queue_head": NONE,
    "queue_tail": NONE,
    "queued": 0,
    "current": NONE,
    "done_code": NONE,
    "started": 0.0,
    "done": 0.0,
    "busy_s": 0.0,
    "arrived": 0,
    "completed": 0,
    "handed_on": 0,
    "rows": 0,
    "away_until": 0.0,
    "free_at": 0.0,
    "extra_s": 0.0,
    "work_s": 0.0,
    "ahead_s": 0.0,
}
_SERVER = {"executor": NONE}
_NODE = {"cores": np.inf, "busy": 0}
# What a grouping remembers of one executor of one operator: load-aware the first four, OSG the others.
_TASK = {
    "used": 0.0,
    "step": 0.0,
    "mark_busy_s": 0.0,
    "mark_completed": 0,
    "since_look": 0,
    "stabilizing": 0,
    "known": 0,
    "mean_s": 0.0,
}
# A cell of OSG's sketches, and of the pair that was sent last; -1 is a snapshot of a cell that counted nothing.
_CELL = {"count": 0.0, "time_s": 0.0, "snapshot_s": -1.0, "sent_count": 0.0, "sent_time_s": 0.0}
_SCHEDULER = {"state": 0, "turn": 0, "epoch": 0, "asked": 0, "replied": 0}
# One scheduler's work for one executor: as it estimates it, as it was, and what to correct.
_LOAD = {"load_s": 0.0, "done_s": 0.0, "correction_s": 0.0}


# By table: what a record holds in which nothing has happened yet.
_NEUTRAL: dict[str, dict[str, Any]] = {
    "world": _WORLD,
    "chance": {"word": 0},
    "heap": _HEAP,
    "tuples": _TUPLE,
    "roots": _ROOT,
    "sources": _SOURCE,
    "rates": {"rate": 0.0},
    "producers": _PRODUCER,
    "edges": _EDGE,
    "values": _VALUES,
    "alias": _ALIAS,
    "cost": {"factor": 1.0},
    "operators": _OPERATOR,
    "server": _SERVER,
    "idle": _SERVER,
    "substreams": _SUBSTREAM,
    "executors": _EXECUTOR,
    "nodes": _NODE,
    "histogram": {"count": 0},
    "tasks": _TASK,
    "cells": _CELL,
    "schedulers": _SCHEDULER,
    "loads": _LOAD,
    "hashes": {"factor": 1, "offset": 0},
}


def _layout(fields: dict[str, Any]) -> np.dtype[Any]:
    return np.dtype([(name, np.int64 if isinstance(value, int) else np.float64) for name, value in fields.items()])


tables_at = reader_of(State, [_layout(_NEUTRAL[name]) for name in State._fields])
"""For compiled code: the state whose tables were handed over by their addresses."""


def allocate(z: Sizes) -> State:
    """A state in which nothing has happened yet; parameters have their neutral values until somebody sets them.

    Row 0 of `histogram` is the topology's latency, row 1 + i operator i's.
    """
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
    state = State(**{name: _table(name, count) for name, count in counts.items()})
    world = state.world[0]
    world.operators, world.sources = z.operators, z.sources
    world.width, world.slots = z.executors, z.slots
    world.schedulers, world.sketch_cells = z.schedulers, z.sketch_cells
    state.operators.home = np.arange(len(state.operators))
    _link_free_tuples(state, 0)
    _link_free_roots(state, 0)
    return state


def with_more_tuples(state: State) -> State:
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


def with_more_executors(state: State) -> State:
    """The same state with room for twice as many executors."""
    count, world = len(state.executors), state.world[0]
    wider = state._replace(
        executors=_longer("executors", state.executors, count),
        server=_wider_rows("server", state.server, count),
        idle=_wider_rows("idle", state.idle, count),
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


def with_memory_for_grouping(state: State, operator: int) -> State:
    """The same state with room for what the grouping of `operator` remembers of each executor."""
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


def reset_executor(state: State, executor: int) -> None:
    """Make the record of `executor` as good as new, and let every grouping forget who had it before."""
    state.executors[executor] = tuple(_EXECUTOR.values())
    width, cells = int(state.world[0].width), int(state.world[0].sketch_cells)
    for slot in range(int(state.world[0].groupings)):
        task = slot * width + executor
        state.tasks[task] = tuple(_TASK.values())
        state.cells[task * cells : (task + 1) * cells] = tuple(_CELL.values())


def _table(name: str, count: int) -> Table:
    """`count` neutral records (at least one, so that every table has an address)."""
    fields = _NEUTRAL[name]
    table = np.empty(max(count, 1), dtype=_layout(fields)).view(np.recarray)
    table[:] = tuple(fields.values())
    return table


def _longer(name: str, table: Table, by: int) -> Table:
    return np.concatenate([table, _table(name, by)]).view(np.recarray)


def _wider_rows(name: str, table: Table, width: int) -> Table:
    wider = _table(name, 2 * len(table))
    wider.reshape(-1, 2 * width)[:, :width] = table.reshape(-1, width)
    return wider


def _link_free_tuples(state: State, first: int) -> None:
    world, links = state.world[0], state.tuples.next
    world.free_tuple = _link(links, first, world.free_tuple)
    world.free_tuples += len(links) - first


def _link_free_roots(state: State, first: int) -> None:
    world, links = state.world[0], state.roots.next
    world.free_root = _link(links, first, world.free_root)
    world.free_roots += len(links) - first


def _link(links: np.ndarray, first: int, head: int) -> int:
    """Chain `links[first:]` in front of the free list that starts at `head`; returns the new start."""
    links[first:-1] = np.arange(first + 1, len(links))
    links[-1] = head
    return first
