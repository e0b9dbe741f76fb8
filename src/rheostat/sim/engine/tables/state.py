"""Engine state: all tables of the event loop, arrays of records that compiled code uses without Python objects.

Records are referred to by index: an operator, an executor, a substream (numbered across all operators), a tuple in the
system, a root (one record that entered, with everything derived from it). -1 is "none".
"""

from typing import Any, NamedTuple

from rheostat.sim.engine.jit import reader_of
from rheostat.sim.engine.tables.layout import layout

Table = Any
"""A numpy record array; its fields are those that `layout` gives the table of that name."""


class EngineState(NamedTuple):
    """Every table of the event loop. `world` has a single record: the numbers that exist once."""

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
    shares: Table
    substreams: Table
    executors: Table
    nodes: Table
    histogram: Table
    tasks: Table
    cells: Table
    schedulers: Table
    loads: Table
    hashes: Table


tables_at = reader_of(EngineState, [layout(table) for table in EngineState._fields])
"""For compiled code: the state whose tables were passed by their addresses."""
