"""Replay: the decisions of any policy on the recorded snapshots of a journal, compared with the recorded decisions.

The plans are the recorded ones: a replay cannot know how the plant would have behaved under other plans. The same
policy with the same options makes the same decisions again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from rheostat.decision import Decision, Hold
from rheostat.describe import describe
from rheostat.journal import Journal
from rheostat.journal.records import RecordedDecision, RecordedObservation, RunRecord
from rheostat.loop.recovery import decide_again, recover_state
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan, StaleDecisionError
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.timestamps import EPOCH_FROM, date_and_time


@dataclass(frozen=True, slots=True)
class Difference:
    """Two different decisions about one pool, operator or group of operators; None is a hold.

    Each has its reason, a hold too; the reason is empty where the policy decided nothing.
    """

    time_s: float
    subject: str
    recorded: Decision | None
    replayed: Decision | None
    recorded_reason: str = ""
    replayed_reason: str = ""

    def __str__(self) -> str:
        recorded = _with_reason(self.recorded, self.recorded_reason)
        replayed = _with_reason(self.replayed, self.replayed_reason)
        return f"{_moment(self.time_s)}  {self.subject}: recorded {recorded}, replayed {replayed}"


@dataclass(slots=True)
class ReplayReport:
    """How two policies compare on the same observations.

    `recorded` and `replayed` count the decisions by kind, without holds. `agreed` counts the equal ones. `failures` are
    the observations on which the policy raised an error. `complete` is false when old snapshots were deleted: a policy
    that keeps state may then decide differently at first.
    """

    policy: str
    options: dict[str, Any]
    snapshots: int = 0
    agreed: int = 0
    failures: int = 0
    complete: bool = True
    recorded: Counter[str] = field(default_factory=Counter)
    replayed: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def text(self, limit: int = 20) -> str:
        """For a terminal: the counts, and the first `limit` differences."""
        lines = [
            f"{self.snapshots} snapshots replayed with {self.policy} ({_listed(self.options)})",
            f"recorded: {_listed(self.recorded) or 'only holds'}",
            f"replayed: {_listed(self.replayed) or 'only holds'}",
            f"{self.agreed} decisions are the same, {len(self.differences)} differ",
        ]
        if self.failures:
            lines.append(f"the policy failed on {self.failures} snapshots")
        if not self.complete:
            lines.append("the oldest snapshots have been deleted: the policy starts without its earlier memory")
        lines += [f"  {difference}" for difference in self.differences[:limit]]
        if len(self.differences) > limit:
            lines.append(f"  and {len(self.differences) - limit} more")
        return "\n".join(lines)


def replay(
    journal: Path | str | Journal, policy: str | None = None, options: Mapping[str, Any] | None = None
) -> ReplayReport:
    """Show the observations of `journal` to `policy`, by default the one that was recorded.

    Options that are not given are as recorded, if it is the recorded policy, and the policy's defaults otherwise.
    """
    if not isinstance(journal, Journal):
        with Journal(journal, read_only=True) as opened:
            return replay(opened, policy, options)
    report = ReplayReport(policy or "", {})
    for number, run in journal.runs().items():
        _replay_run(journal, number, run, _policy(run, policy, options or {}), report)
    return report


def decisions_again(journal: Journal, number: int, run: RunRecord, policy: Policy) -> Iterator["Replayed"]:
    """What `policy` decides at each observation of one run, after the history that the run began with."""
    measurer = Measurer(run.goal.goal().topology, policy.options.smoothing)
    recover_state(policy, measurer, journal.last_recorded(run.history, before_run=number))
    for each in journal.recorded(number):
        try:
            yield Replayed(each, decide_again(policy, measurer, each))
        except Exception as error:
            yield Replayed(each, (), f"the policy failed: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class Replayed:
    """The decisions on one observation; none if the policy failed on it, and how."""

    observation: RecordedObservation
    decisions: Sequence[Decision]
    failure: str = ""


def _policy(run: RunRecord, name: str | None, options: Mapping[str, Any]) -> Policy:
    same = name in (None, run.policy)
    return make_policy(name or run.policy, run.goal.goal(), {**(run.options if same else {}), **options})


def _replay_run(journal: Journal, number: int, run: RunRecord, policy: Policy, report: ReplayReport) -> None:
    report.policy, report.options = policy.name, msgspec.to_builtins(policy.options)
    recorded: dict[int, list[RecordedDecision]] = defaultdict(list)
    for one in journal.decisions(number):
        if one.decision.by is None:  # what somebody asked for is no decision of the policy
            recorded[one.snapshot].append(one)
    for replayed in decisions_again(journal, number, run, policy):
        report.snapshots += 1
        report.failures += bool(replayed.failure)
        _compare([one.decision for one in recorded.pop(replayed.observation.id, ())], replayed, report)
    report.complete = report.complete and not recorded and _has_history(journal, number, run)


def _has_history(journal: Journal, number: int, run: RunRecord) -> bool:
    return len(journal.last_recorded(run.history, before_run=number)) == run.history


def _compare(recorded: Sequence[Decision], replayed: Replayed, report: ReplayReport) -> None:
    then, now = _wanted(recorded), _wanted(replayed.decisions)
    report.recorded.update(decision.kind for decision in then.values())
    report.replayed.update(decision.kind for decision in now.values())
    for subject in {**then, **now}:
        old, new = then.get(subject), now.get(subject)
        if old is not None and new is not None and _substance(old) == _substance(new):
            report.agreed += 1
        else:
            report.differences.append(_difference(subject, old, new, replayed))


def _difference(subject: str, old: Decision | None, new: Decision | None, replayed: Replayed) -> Difference:
    seen = replayed.observation
    held = [decision for decision in replayed.decisions if isinstance(decision, Hold)]
    return Difference(
        seen.snapshot.time_s,
        subject,
        old,
        new,
        old.reason if old is not None else _reason_to_hold(new, seen.holds, seen.plan),
        new.reason if new is not None else replayed.failure or _reason_to_hold(old, held, seen.plan),
    )


def _reason_to_hold(other: Decision | None, holds: Sequence[Hold], plan: Plan) -> str:
    """The reason of the hold that stands against the decision `other`: the one about the pool that it would change."""
    try:
        pools = () if other is None else plan.pools_of(other)
    except StaleDecisionError:
        return ""
    return next((hold.reason for hold in holds if hold.pool in pools), "")


def _wanted(decisions: Sequence[Decision]) -> dict[str, Decision]:
    return {decision.subject: decision for decision in decisions if not isinstance(decision, Hold)}


def _substance(decision: Decision) -> dict[str, Any]:
    """What is decided, without reason and prediction."""
    plain: dict[str, Any] = msgspec.to_builtins(decision)
    return {name: value for name, value in plain.items() if name not in ("reason", "predicted")}


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _moment(time_s: float) -> str:
    """A date for times since the epoch, plain seconds for a simulator's."""
    return f"{time_s:.1f} s" if time_s < EPOCH_FROM else date_and_time(time_s)


def _with_reason(decision: Decision | None, reason: str) -> str:
    return f"{describe(decision)} ({reason or 'nothing was decided'})"
