"""The one method that all policies share, and what it is given."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Protocol

import msgspec

from rheostat.decision import Decision
from rheostat.measure.measures import Measures
from rheostat.plan import Plan
from rheostat.sla import Goal
from rheostat.snapshot import Snapshot


class Observation(msgspec.Struct, frozen=True):
    """Everything a policy may look at: what was measured, what it amounts to, and what is wanted so far.

    `settling` names the operators whose plan is not yet real: a treatment is under way there.
    """

    snapshot: Snapshot
    measures: Measures
    plan: Plan
    settling: frozenset[str] = frozenset()


class PolicyOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every policy's options: declared once, with default, bounds and a description for the help text."""

    smoothing: Annotated[
        str, msgspec.Meta(description='how measures are smoothed: "none", "alpha:0.8" or "window:6" (DRS)')
    ] = "none"


class Policy(Protocol):
    """A policy may remember what it was shown, nothing else: equal observations give equal decisions.

    `decide` returns at most one decision for each operator. An operator it says nothing about holds.
    `options` are those it was made with: the loop smooths as they say, the journal keeps them for a replay.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[PolicyOptions]]

    @property
    def options(self) -> PolicyOptions: ...

    def __init__(self, goal: Goal, options: Any) -> None: ...

    def decide(self, observation: Observation) -> Sequence[Decision]: ...
