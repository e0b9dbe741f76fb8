"""Turn: one pass of the control loop, with what was observed, decided and refused, and the outcomes of actions."""

from enum import StrEnum

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.decision import Decision, Effect
from rheostat.measure.measures import Measures
from rheostat.measure.sla_standing import SlaStanding
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.policies.expectation import Expectation
from rheostat.snapshot import Snapshot


class Ruling(StrEnum):
    """What became of a policy's decision."""

    HELD = "held"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    DRY_RUN = "dry-run"


class Verdict(msgspec.Struct, frozen=True):
    """A decision and its ruling. `revision` is that of the plan it led to, and identifies the action from then on."""

    decision: Decision
    ruling: Ruling
    why: str = ""
    revision: int | None = None


class Outcome(msgspec.Struct, frozen=True):
    """What the action that led to plan `revision` brought; without `observed`, `note` says why that is not known."""

    revision: int
    observed: Effect | None = None
    note: str = ""


WORKS_AGAIN = "works again"


class LoopProblem(msgspec.Struct, frozen=True):
    """What is wrong in one part of the loop, or that it works again."""

    place: str
    what: str = WORKS_AGAIN


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one turn. `before` was the plan when `snapshot` was taken, `plan` is the plan from now on.

    `standings` has one entry for each SLA of the goal, `expected` is the policy's latest forecast of the input, if it
    makes any. `problems` are those there are now, `problem_changes` those that began, changed or ended. The turn began
    `lag_s` after it was due and took `took_s`. `executors_left` is how many more budget and cluster allow, None if they
    have no limit.
    """

    time_s: float
    before: Plan
    plan: Plan
    snapshot: Snapshot | None = None
    measures: Measures | None = None
    capabilities: Capabilities = Capabilities()
    settling: frozenset[PoolName] = frozenset()
    standings: tuple[SlaStanding, ...] = ()
    expected: Expectation | None = None
    paused: bool = False
    dry_run: bool = False
    verdicts: tuple[Verdict, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    problems: tuple[LoopProblem, ...] = ()
    problem_changes: tuple[LoopProblem, ...] = ()
    executors_left: int | None = None
    lag_s: float = 0.0
    took_s: float = 0.0

    def ruled(self, ruling: Ruling) -> tuple[Verdict, ...]:
        """The verdicts with this ruling."""
        return tuple(verdict for verdict in self.verdicts if verdict.ruling is ruling)
