"""Makes the queries of a topology those that a plan wants, beside everything else that goes on.

A change takes seconds, in which the pools go on: they may have to replace an executor that the queries wait for.
"""

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from rheostat.errors import PlantError, RheostatError
from rheostat.names import OperatorName, PoolName

Groups = tuple[tuple[str, ...], ...]

_AGAIN_AFTER_S = 5.0
_LOG = logging.getLogger(__name__)


class Arrangeable(Protocol):
    """What runs queries."""

    @property
    def fused(self) -> Groups:
        """The groups that share a query now."""
        ...

    def rearrange(self, fused: Iterable[Sequence[str]]) -> None:
        """Have these share one instead; raises what stands in the way."""
        ...


class _NothingFused:
    """Queries that cannot share operators."""

    @property
    def fused(self) -> Groups:
        return ()

    def rearrange(self, fused: Iterable[Sequence[str]]) -> None:
        raise PlantError(f"these queries cannot be fused: {', '.join('+'.join(group) for group in fused)}")


UNFUSED: Arrangeable = _NothingFused()


class Arranger:
    """Of one topology. None of the calls waits for a change, but `close`."""

    def __init__(self, queries: Arrangeable) -> None:
        self._queries = queries
        self._worker: threading.Thread | None = None
        self._tried: Groups | None = None
        self._not_before_s = 0.0
        self.obstacle: str | None = None
        """Why the last change was not possible; None if it was."""

    @property
    def fused(self) -> Groups:
        return self._queries.fused

    def follow(self, wanted: Groups, homes: Mapping[OperatorName, PoolName], now_s: float) -> None:
        """Begin a change if one is wanted and none is under way. Who is to share a query must share a pool before."""
        if _same(wanted, self._queries.fused):
            self.obstacle, self._tried = None, None
            return
        if self._is_busy or not _share_pools(wanted, homes) or (wanted == self._tried and now_s < self._not_before_s):
            return
        self._tried, self._not_before_s = wanted, now_s + _AGAIN_AFTER_S
        self._worker = threading.Thread(target=self._change, args=(wanted,), name="rheostat queries", daemon=True)
        self._worker.start()

    def differs_at(self, wanted: Groups) -> frozenset[str]:
        """The operators that share a query with others than `wanted`."""
        now = {name: frozenset(group) for group in self._queries.fused for name in group}
        then = {name: frozenset(group) for group in wanted for name in group}
        return frozenset(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))

    def close(self) -> None:
        """Wait for the change under way; it ends soon when the queries are stopped."""
        if self._worker is not None:
            self._worker.join()

    @property
    def _is_busy(self) -> bool:
        return self._worker is not None and self._worker.is_alive()

    def _change(self, wanted: Groups) -> None:
        try:
            self._queries.rearrange(wanted)
            self.obstacle = None
        except RheostatError as error:
            self.obstacle = str(error)
        except Exception as error:  # the queries go on as they were, or their failure is reported by themselves
            _LOG.warning("the queries could not be changed", exc_info=True)
            self.obstacle = f"the queries could not be changed: {error}"


def _same(left: Groups, right: Groups) -> bool:
    return {frozenset(group) for group in left} == {frozenset(group) for group in right}


def _share_pools(groups: Groups, homes: Mapping[OperatorName, PoolName]) -> bool:
    return all(len({homes[OperatorName(name)] for name in group if name in homes}) <= 1 for group in groups)
