"""Move terms: what a move of substreams has to bring now to be worth what it costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.duration import human
from rheostat.policies.streamswitch.model.executor import ExecutorModel
from rheostat.policies.streamswitch.strategies.strategy import Strategy

_SHARE_TO_CURE = 0.1
_SHARE_TO_RELIEVE = 0.05
"""Shares of the time of all executors of a pool that its moves may cost: one that cures, and one that only relieves."""

_DEVIATIONS = 2.0
"""Standard deviations of the arrivals in a window that a move has to take off the busier executor."""


@dataclass(frozen=True, slots=True)
class MoveTerms:
    """A move costs `cost_s` of useful time, the last one ended `since_s` ago, and rates are measured over `window_s`.

    Without a cost every move that improves something is worth it, as in the paper.
    """

    cost_s: float = 0.0
    since_s: float = math.inf
    window_s: float = math.inf

    def why_not(
        self, move: Strategy, source: ExecutorModel, executors: Sequence[ExecutorModel], *, cures: bool
    ) -> str | None:
        """Why `move` is not worth it now, or None."""
        if self.cost_s <= 0:
            return None
        cost = f"a move costs {human(self.cost_s)} of executor time"
        share = _SHARE_TO_CURE if cures else _SHARE_TO_RELIEVE
        wait_s = self.cost_s / (share * len(executors)) - self.since_s
        if wait_s > 1e-9:
            return f"{cost}: the next one in {human(wait_s)}"
        busier = max(each.arrival_rate for each in move.applied(executors) if each.id in (move.source, move.target))
        relief, noise = source.arrival_rate - busier, _DEVIATIONS * math.sqrt(source.arrival_rate / self.window_s)
        if relief >= noise:
            return None
        return f"{cost}, and {relief:.3g} records/s less on the busier executor may be chance"


FREE_MOVES = MoveTerms()
"""Moves cost nothing, or what they cost is not known yet."""
