"""Layout of the tables: the fields of each, with their initial values.

A field is an integer if its initial value is one, else a float.
"""

from typing import Any

import numpy as np

from rheostat.grouping.hashes import PRIME
from rheostat.sim.engine.tables.codes import FIXED, NONE, OWN_QUEUES, ROUND_ROBIN, ROUNDED, UNBOUNDED

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
    "node_io_s": 0.0,
    "timeout_s": np.inf,
    "batch_cost": 1.0,
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
    "begins": 0.0,
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
_EDGE = {
    "target": 0,
    "selectivity": 1.0,
    "emission": ROUNDED,
    "bulk": 1,
    "most": 1,
    "value": NONE,
    "rows": 0,
    "batch_s": 0.0,
}
# Distributions of values: Walker's alias tables, one after the other.
_VALUES = {"start": 0, "length": 0}
_ALIAS = {"probability": 1.0, "other": 0}
# `home` is the operator whose queue and list of idle executors are used: another one's in a shared pool.
# `slot` is the place of its grouping's memory of each executor in the tables below, if it has any.
_OPERATOR = {
    "mode": OWN_QUEUES,
    "grouping": ROUND_ROBIN,
    "turn": 0,
    "slot": NONE,
    "interval_s": np.inf,
    "interval_start": 0.0,
    "schedulers": 1,
    "sketch_window_s": 0.0,
    "sketch_least": 0,
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
    "cost_now": 1.0,
    "io_s": 0.0,
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
    "queue_head": NONE,
    "queue_tail": NONE,
    "queued": 0,
    "servers": 0,
    "idles": 0,
    "planned": 0,
    "batch_fixed_s": 0.0,
    "batch_task_s": 0.0,
    "batch_spread": 0.0,
    "batch_tasks": 0,
    "batch_trigger_s": 0.0,
    "batch_limit": UNBOUNDED,
    "batch_longest_s": np.inf,
    "batch_most": np.inf,
    "batch_head": NONE,
    "batch_tail": NONE,
    "batch_rows": 0,
    "batch_code": NONE,
    "batch_started": -np.inf,
    "batch_ready": -np.inf,
    "batch_count": 0,
    "batch_duration_s": 0.0,
    "batch_overhead_s": 0.0,
    "batch_task_count": 0,
    "batch_under_way_tasks": 0,
    "finished_overhead_s": 0.0,
    "finished_task_count": 0,
}
# A substream is held, with its tuples, until it has an owner.
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
# queue it serves, if any, and `listed` says that it is in the list of idle executors there. `rows` are of batches.
# `barrier` is how many records it may have done or handed on before it rests. `read_at` is when the I/O of what it
# serves ends, or that of its share of a batch.
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
    "barrier": UNBOUNDED,
    "rows": 0,
    "read_at": 0.0,
    "io_s": 0.0,
    "away_until": 0.0,
    "free_at": 0.0,
    "extra_s": 0.0,
    "work_s": 0.0,
    "tasks": 0,
}
_SERVER = {"executor": NONE}
# An executor's share of an operator's latest batch: until when it is busy with it, with how much work, and
# with how many tasks, where tasks are dealt out.
_SHARE = {"end": 0.0, "work_s": 0.0, "crowding": 1.0, "tasks": 0}
# I/O is busy until `io_until`, with what was asked for so far; `io_s` is the time that all of it takes.
_NODE = {"cores": np.inf, "busy": 0, "io_until": 0.0, "io_s": 0.0}
# What a grouping remembers of one executor of one operator: the first five for load-aware, the others for OSG.
_TASK = {
    "used": 0.0,
    "smoothed": 0.0,
    "step": 0.0,
    "mark_busy_s": 0.0,
    "mark_completed": 0,
    "since_look": 0,
    "look": 0.0,
    "expected_s": 0.0,
    "excess_s": 0.0,
    "excess_squares": 0.0,
    "stabilizing": 0,
    "known": 0,
    "mean_s": 0.0,
}
# A cell of OSG's sketches, and of the pair that was sent last; -1 is a snapshot of an empty cell.
_CELL = {"count": 0.0, "time_s": 0.0, "snapshot_s": -1.0, "sent_count": 0.0, "sent_time_s": 0.0}
_SCHEDULER = {"state": 0, "turn": 0, "epoch": 0, "asked": 0, "replied": 0}
# One scheduler's work for one executor: estimated, done, and the correction.
_LOAD = {"load_s": 0.0, "done_s": 0.0, "correction_s": 0.0}

INITIAL: dict[str, dict[str, Any]] = {
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
    "shares": _SHARE,
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
"""By table: the initial values of a record."""


def layout(table: str) -> np.dtype[Any]:
    """The record type of the table of that name."""
    fields = INITIAL[table].items()
    return np.dtype([(name, np.int64 if isinstance(value, int) else np.float64) for name, value in fields])


def initial_record(table: str) -> tuple[Any, ...]:
    """A record of that table with its initial values."""
    return tuple(INITIAL[table].values())
