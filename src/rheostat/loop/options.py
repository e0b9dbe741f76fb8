"""Loop options: the period of the control loop, its cooldown, and its timeouts."""

import math
from dataclasses import dataclass

from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.errors import ConfigError

FOREVER = "forever"
SHORTEST_PERIOD_S = 0.001
"""About the time that a turn takes; with a shorter period a loop would never catch up."""


@dataclass(frozen=True, slots=True, init=False)
class LoopOptions:
    """All times of the loop.

    `period`: from one turn to the next. `cooldown`: the least time between two actions; "forever" only recommends, as
    `dry_run` does. `max_age`: a snapshot older than this is stale (three periods, unless given). `effect_window`: how
    long the effect of an action is measured once it is finished. `action_timeout`: how long an action that does not
    finish blocks others on its pool. `start_timeout`: the same if only new executors are missing; failed ones block
    nothing. `history`: how many recorded observations a policy is shown after a restart.
    """

    period_s: float
    cooldown_s: float
    max_age_s: float
    effect_window_s: float
    action_timeout_s: float
    start_timeout_s: float
    history: int
    dry_run: bool

    def __init__(
        self,
        period: Duration = "10s",
        *,
        cooldown: Duration = 0,
        max_age: Duration | None = None,
        effect_window: Duration = 0,
        action_timeout: Duration = "10m",
        start_timeout: Duration = "1m",
        history: int = 360,
        dry_run: bool = False,
    ) -> None:
        freeze = object.__setattr__
        freeze(self, "period_s", positive_seconds(period, "period"))
        if self.period_s < SHORTEST_PERIOD_S:
            raise ConfigError(f"period {period!r} is too short: give at least {human(SHORTEST_PERIOD_S)}")
        freeze(self, "cooldown_s", math.inf if cooldown in (FOREVER, math.inf) else seconds(cooldown, "cooldown"))
        freeze(self, "max_age_s", 3 * self.period_s if max_age is None else positive_seconds(max_age, "max_age"))
        freeze(self, "effect_window_s", seconds(effect_window, "effect_window"))
        freeze(self, "action_timeout_s", positive_seconds(action_timeout, "action_timeout"))
        freeze(self, "start_timeout_s", positive_seconds(start_timeout, "start_timeout"))
        freeze(self, "dry_run", dry_run or math.isinf(self.cooldown_s))
        if history < 0:
            raise ConfigError(f"history {history!r} must be a number of observations >= 0")
        freeze(self, "history", history)
