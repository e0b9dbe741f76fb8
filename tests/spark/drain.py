"""Drain: wait until a running topology has processed everything that its sources have now."""

from rheostat.spark.query.runtime import Runtime

_POLL_S = 0.02


def drain(runtime: Runtime) -> None:
    """Return when all input, and everything that follows from it, is in committed batches; raise if a query fails."""
    for query in runtime.queries.values():
        if query.unit.source is not None and query.query is not None:
            query.query.processAllAvailable()
    quiet = 0
    # On a loop, records can be missed by one look, but not by two in a row.
    while quiet < 2:
        assert not runtime.wait(_POLL_S), f"topology {runtime.topology.name!r} was stopped before it was drained"
        quiet = 0 if any(query.has_rows for query in runtime.queries.values()) else quiet + 1
