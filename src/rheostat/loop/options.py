"""How the control loop turns: its period, its patience, and how long it leaves things alone."""

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

    `period`: from one observation to the next. `t_ra`: between two acts; "forever" only recommends, as `dry_run`
    does. `max_age`: a snapshot older than this is stale (three periods, unless given). `settle`: how long the
    effect of a treatment is observed once it is real. `patience`: how long a treatment that does not become real
    keeps others from the same operator. `memory`: how many recorded observations a policy is shown after a
    restart.
    """

    period_s: float
    t_ra_s: float
    max_age_s: float
    settle_s: float
    patience_s: float
    memory: int
    dry_run: bool

    def __init__(
        self,
        period: Duration = "10s",
        *,
        t_ra: Duration = 0,
        max_age: Duration | None = None,
        settle: Duration = 0,
        patience: Duration = "10m",
        memory: int = 360,
        dry_run: bool = False,
    ) -> None:
        freeze = object.__setattr__
        freeze(self, "period_s", positive_seconds(period, "period"))
        if self.period_s < SHORTEST_PERIOD_S:
            raise ConfigError(f"period {period!r} is too short: give at least {human(SHORTEST_PERIOD_S)}")
        freeze(self, "t_ra_s", math.inf if t_ra in (FOREVER, math.inf) else seconds(t_ra, "t_ra"))
        freeze(self, "max_age_s", 3 * self.period_s if max_age is None else positive_seconds(max_age, "max_age"))
        freeze(self, "settle_s", seconds(settle, "settle"))
        freeze(self, "patience_s", positive_seconds(patience, "patience"))
        freeze(self, "dry_run", dry_run or math.isinf(self.t_ra_s))
        if memory < 0:
            raise ConfigError(f"memory {memory!r} must be a number of observations >= 0")
        freeze(self, "memory", memory)
