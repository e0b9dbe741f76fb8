"""Latency outside: how long records take where no executor of a pool helps, in sources and between operators."""

from collections import deque
from collections.abc import Mapping

import numpy as np

from rheostat.names import OperatorName
from rheostat.snapshot import Latency

_REMEMBERED, _ENOUGH = 30, 5
"""Turns at most, and at least."""

_USUAL = 0.25
"""The quantile that counts. Records that waited for a source to start, or leave the last operator after a backlog of
the first, seem to have been longer outside."""


class LatencyOutside:
    """The latency from entry to result, less that at the operators."""

    def __init__(self) -> None:
        self._at_s: dict[OperatorName, float] = {}
        self._seen_s: deque[float] = deque(maxlen=_REMEMBERED)

    def update(self, in_all: Latency | None, at: Mapping[OperatorName, Latency | None]) -> None:
        """Add one more turn: of the results in it, and of the records that each operator completed."""
        self._at_s.update({name: latency.mean_s for name, latency in at.items() if latency is not None})
        if in_all is not None and at and all(name in self._at_s for name in at):
            self._seen_s.append(in_all.mean_s - sum(self._at_s[name] for name in at))

    @property
    def usual_s(self) -> float:
        """0 while too little was seen, and where operators that work beside each other take longer in all."""
        return (
            max(0.0, float(np.quantile(self._seen_s, _USUAL, method="lower"))) if len(self._seen_s) >= _ENOUGH else 0.0
        )
