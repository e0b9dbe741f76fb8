"""Records of a journal: runs, observations and decisions as they were written."""

from typing import Any

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.decision import Decision, Effect, Hold
from rheostat.journal.goal_record import GoalRecord
from rheostat.loop.turn import Ruling
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot

_decode_holds = msgspec.json.Decoder(tuple[Hold, ...]).decode


class RunRecord(msgspec.Struct, frozen=True):
    """One life of a controller: its goal, its policy, and how many recorded observations the policy was shown first."""

    started_s: float
    fingerprint: str
    goal: GoalRecord
    policy: str
    options: dict[str, Any]
    history: int = 0


class RecordedObservation(msgspec.Struct, frozen=True):
    """One observation as the policy was shown it."""

    id: int
    run: int
    snapshot: Snapshot
    capabilities: Capabilities
    plan: Plan
    settling: frozenset[PoolName]
    holds_json: str

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The pools that the policy left as they were, and why."""
        return _decode_holds(self.holds_json)


class RecordedDecision(msgspec.Struct, frozen=True):
    """One decision to change something: what became of it, what it predicted, and what was observed."""

    id: int
    run: int
    snapshot: int
    time_s: float
    decision: Decision
    ruling: Ruling
    why: str
    revision: int | None
    observed: Effect | None
    note: str | None


class Command(msgspec.Struct, frozen=True):
    """An intervention: pause, resume, another goal, a requested decision. `by` is empty if nobody said who it was."""

    time_s: float
    kind: str
    what: str
    by: str


class PendingAction(msgspec.Struct, frozen=True):
    """An accepted decision whose outcome is not known yet."""

    revision: int
    pool: PoolName
    accepted_s: float


class Newest(msgspec.Struct, frozen=True):
    """How far a journal has grown: the numbers of its newest entries, and what the loop did in the newest turn."""

    point: int = 0
    time_s: float = 0.0
    paused: bool = False
    dry_run: bool = False
    decision: int = 0
    outcomes: int = 0
    run: int = 0
    command: int = 0


class Resumed(msgspec.Struct, frozen=True):
    """Where the last run stopped; `decided` says whether its plan came from a decision."""

    plan: Plan
    last_action_s: float | None
    pending: tuple[PendingAction, ...]
    decided: bool
