"""One turn of the control loop: what was seen, what was decided about it, and what came of earlier decisions."""

from enum import StrEnum

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.decision import Decision, Effect
from rheostat.measure.measures import Measures
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot


class Ruling(StrEnum):
    """What the loop made of a policy's decision."""

    HELD = "held"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    DRY_RUN = "dry-run"


class Verdict(msgspec.Struct, frozen=True):
    """A decision and what became of it. `revision` is that of the plan it led to, and names it from then on."""

    decision: Decision
    ruling: Ruling
    why: str = ""
    revision: int | None = None


class Outcome(msgspec.Struct, frozen=True):
    """What the decision that led to plan `revision` brought; without `observed`, `note` says why it is not known."""

    revision: int
    observed: Effect | None = None
    note: str = ""


class Problem(msgspec.Struct, frozen=True):
    """Something that went wrong in one part of the loop; an empty `what` says that it is over."""

    place: str
    what: str = ""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one turn. `before` was wanted when `snapshot` was taken, `plan` is wanted from now on.

    `problems` are those there are now, `news` those that began, changed or ended.
    """

    time_s: float
    before: Plan
    plan: Plan
    snapshot: Snapshot | None = None
    measures: Measures | None = None
    capabilities: Capabilities = Capabilities()
    settling: frozenset[PoolName] = frozenset()
    verdicts: tuple[Verdict, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    problems: tuple[Problem, ...] = ()
    news: tuple[Problem, ...] = ()

    def ruled(self, ruling: Ruling) -> tuple[Verdict, ...]:
        """The verdicts with this ruling."""
        return tuple(verdict for verdict in self.verdicts if verdict.ruling is ruling)
