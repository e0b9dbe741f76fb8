"""Explained turns: the recorded turns of a run, each with its numbers and with what became of every pool."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from rheostat.decision import Decision, Effect, GroupDecision, OperatorDecision, PoolDecision
from rheostat.describe import describe
from rheostat.explain.numbers import Numbers, numbers_of
from rheostat.journal import Journal
from rheostat.journal.records import RecordedDecision, RecordedObservation, RunRecord
from rheostat.loop.turn import Ruling
from rheostat.measure.measurer import Measurer
from rheostat.measure.measures import Measures
from rheostat.plan import Plan

_WARM_UP = 200
"""Turns that are measured before the one that is wanted, so that its smoothed numbers are those of the run."""


class ExplainedDecision(msgspec.Struct, frozen=True):
    """One decision: what, why, what became of it, what it predicted and what was observed.

    `refusal` says why it was not carried out. `outcome` adds to `observed`, or says why there is none.
    """

    subject: str
    operators: tuple[str, ...]
    ruling: Ruling
    decision: str
    reason: str
    refusal: str = ""
    revision: int | None = None
    predicted: Effect | None = None
    observed: Effect | None = None
    outcome: str = ""


class ExplainedTurn(msgspec.Struct, frozen=True):
    """One turn. `numbers` is None if its snapshot was deleted; `problems` are those of the loop and of measuring."""

    run: int
    time_s: float
    since_start_s: float
    numbers: Numbers | None
    settling: tuple[str, ...]
    decisions: tuple[ExplainedDecision, ...]
    problems: tuple[str, ...] = ()


class RunTurns:
    """Reads the turns of one run from a journal."""

    def __init__(self, journal: Journal, number: int, run: RunRecord) -> None:
        self._journal, self._number, self._run = journal, number, run
        self._goal = run.goal.goal()
        self._plans = journal.plans()
        later = [other.started_s for name, other in journal.runs().items() if name > number]
        ended_s = min(later, default=math.inf)
        self.problems = [each for each in journal.problems() if run.started_s <= each[0] < ended_s]
        """The problems that began, changed or ended in this run, with their times."""

    def all(self) -> Iterator[ExplainedTurn]:
        """Every turn with a snapshot or a decision, the oldest first."""
        deleted = self._decided()
        for recorded, measures in self._measured():
            for snapshot in [each for each in deleted if each < recorded.id]:
                yield self._without_snapshot(deleted.pop(snapshot))
            yield self._turn(recorded, measures, deleted.pop(recorded.id, []))
        for decisions in deleted.values():
            yield self._without_snapshot(decisions)

    def at(self, snapshot: int) -> ExplainedTurn:
        """The turn with this snapshot."""
        *_, (recorded, measures) = self._measured(max(0, snapshot - _WARM_UP), snapshot)
        return self._turn(recorded, measures, self._decided().get(snapshot, []))

    def _decided(self) -> dict[int, list[RecordedDecision]]:
        """The decisions of the run by snapshot."""
        decided: dict[int, list[RecordedDecision]] = {}
        for one in self._journal.decisions(self._number):
            decided.setdefault(one.snapshot, []).append(one)
        return decided

    def _measured(self, after: int = 0, last: int | None = None) -> Iterator[tuple[RecordedObservation, Measures]]:
        measurer = Measurer(self._goal.topology, str(self._run.options.get("smoothing", "none")))
        for each in self._journal.last_recorded(self._run.history, before_run=self._number):
            measurer.update(each.snapshot, each.plan)
        for each in self._journal.recorded(self._number, after):
            yield each, measurer.update(each.snapshot, each.plan)
            if each.id == last:
                return

    def _turn(
        self, recorded: RecordedObservation, measures: Measures, decided: Sequence[RecordedDecision]
    ) -> ExplainedTurn:
        time_s, plan = recorded.snapshot.time_s, recorded.plan
        problems = self._problems_at(time_s)
        decisions = [_decided_in(plan, one) for one in decided]
        decisions += [_held(plan, hold) for hold in recorded.holds]
        return ExplainedTurn(
            run=self._number,
            time_s=time_s,
            since_start_s=time_s - self._run.started_s,
            numbers=numbers_of(self._goal, recorded, measures),
            settling=tuple(sorted(recorded.settling)),
            decisions=(*decisions, *_undecided(plan, decisions, problems)),
            problems=(*(f"{place}: {what}" for place, what in problems.items()), *recorded.snapshot.problems),
        )

    def _without_snapshot(self, decided: Sequence[RecordedDecision]) -> ExplainedTurn:
        time_s = decided[0].time_s
        plan = next((plan for since_s, plan in reversed(self._plans) if since_s < time_s), self._plans[0][1])
        return ExplainedTurn(
            run=self._number,
            time_s=time_s,
            since_start_s=time_s - self._run.started_s,
            numbers=None,
            settling=(),
            decisions=tuple(_decided_in(plan, one) for one in decided),
        )

    def _problems_at(self, time_s: float) -> dict[str, str]:
        """The problems of the loop in force at `time_s`, by place."""
        present: dict[str, str] = {}
        for since_s, problem in self.problems:
            if since_s <= time_s:
                present[problem.place] = problem.what
        return {place: what for place, what in present.items() if what}


def _decided_in(plan: Plan, one: RecordedDecision) -> ExplainedDecision:
    return ExplainedDecision(
        subject=one.decision.subject,
        operators=_operators(plan, one.decision),
        ruling=one.ruling,
        decision=describe(one.decision),
        reason=one.decision.reason,
        refusal=one.why,
        revision=one.revision,
        predicted=one.decision.predicted,
        observed=one.observed,
        outcome=one.note or "",
    )


def _held(plan: Plan, hold: Decision) -> ExplainedDecision:
    return ExplainedDecision(
        subject=hold.subject,
        operators=_operators(plan, hold),
        ruling=Ruling.HELD,
        decision=describe(hold),
        reason=hold.reason,
        predicted=hold.predicted,
    )


def _undecided(
    plan: Plan, decisions: Sequence[ExplainedDecision], problems: dict[str, str]
) -> Iterator[ExplainedDecision]:
    """A hold for each pool that no decision is about."""
    failed = problems.get("policy")
    reason = f"the policy failed: {failed}" if failed else "the policy decided nothing"
    decided = {operator for each in decisions for operator in each.operators}
    for pool in plan.pools:
        if decided.isdisjoint(operators := plan.sharing(pool)) and operators:
            yield ExplainedDecision(pool, tuple(operators), Ruling.HELD, describe(None), reason)


def _operators(plan: Plan, decision: Decision) -> tuple[str, ...]:
    """The operators that `decision` is about; none if it is about a pool that there is not."""
    match decision:
        case PoolDecision():
            return tuple(plan.sharing(decision.pool))
        case OperatorDecision():
            return (decision.operator,)
        case GroupDecision():
            return decision.operators
    return ()
