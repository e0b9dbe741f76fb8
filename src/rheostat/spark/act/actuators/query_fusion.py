"""Query fusion: changes which operators share a query, in a thread of its own.

A change takes seconds. Meanwhile the reconciler goes on: it may have to replace an executor that the queries need.
"""

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Protocol

from rheostat.errors import PlantError, RheostatError
from rheostat.spark.state.query_groups import Groups

_RETRY_AFTER_S = 5.0
_LOG = logging.getLogger(__name__)


class Rearrangeable(Protocol):
    """What runs the queries."""

    def rearrange(self, fused: Iterable[Sequence[str]]) -> None:
        """Have these groups share a query; raises the reason if that is not possible."""
        ...


class QueryFusion:
    """Of one topology. No call waits for a change, except `close`."""

    def __init__(self, queries: Rearrangeable) -> None:
        self._queries = queries
        self._worker: threading.Thread | None = None
        self._tried: Groups | None = None
        self._retry_at_s = 0.0
        self._failure: str | None = None

    def request(self, wanted: Groups, now_s: float) -> None:
        """Start a change to `wanted`, unless one is running or the same one has just failed: then raise why."""
        if self._worker is not None and self._worker.is_alive():
            return
        failure = self._failure if wanted == self._tried else None
        if wanted != self._tried or now_s >= self._retry_at_s:
            self._tried, self._retry_at_s = wanted, now_s + _RETRY_AFTER_S
            self._worker = threading.Thread(target=self._change, args=(wanted,), name="rheostat queries", daemon=True)
            self._worker.start()
        if failure is not None:
            raise PlantError(failure)

    def close(self) -> None:
        """Wait for the change under way; it ends soon when the queries are stopped."""
        if self._worker is not None:
            self._worker.join()

    def _change(self, wanted: Groups) -> None:
        try:
            self._queries.rearrange(wanted)
            self._failure = None
        except RheostatError as error:
            self._failure = str(error)
        except Exception as error:  # the queries go on as they were, or report their own failure
            _LOG.warning("the queries could not be changed", exc_info=True)
            self._failure = f"the queries could not be changed: {error}"
