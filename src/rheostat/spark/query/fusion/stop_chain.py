"""Ends the queries of a chain so that nothing is left between them."""

import threading
import time
from collections.abc import Callable, Sequence

from rheostat.errors import PlantError
from rheostat.spark.query.unit_query import UnitQuery

_PATIENCE_S = 60.0
_LOOK_EVERY_S = 0.01


def wind_down(queries: Sequence[UnitQuery], given_up: threading.Event, patience_s: float = _PATIENCE_S) -> None:
    """Each finishes the batch under way and ends; those behind the first take all that was published for them before.

    Fails when that lasts longer than `patience_s` or is `given_up`; some of them have ended then.
    """
    end_s = time.monotonic() + patience_s
    for number, query in enumerate(queries):
        if number:
            _await(_has_taken_all, query, given_up, end_s)
        query.close()
        _await(_is_between_batches, query, given_up, end_s)
        query.stop()
        query.batches.settle()


def _has_taken_all(query: UnitQuery) -> bool:
    return not query.has_rows or not query.is_active


def _is_between_batches(query: UnitQuery) -> bool:
    return query.is_quiet


def _await(is_so: Callable[[UnitQuery], bool], query: UnitQuery, given_up: threading.Event, end_s: float) -> None:
    while not is_so(query):
        if given_up.wait(_LOOK_EVERY_S):
            raise PlantError(f"{query.unit.name!r} was to end with others and all were stopped instead")
        if time.monotonic() > end_s:
            raise PlantError(f"{query.unit.name!r} did not finish what it has in time: it is tried again later")
