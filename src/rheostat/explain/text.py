"""Explanations as text for a terminal."""

from collections.abc import Iterator, Sequence

from rheostat.decision import Effect
from rheostat.describe import executors
from rheostat.duration import human
from rheostat.explain.explanation import Explanation, ProblemEntry, TurnExplanation
from rheostat.explain.moment import clock_text, since_start
from rheostat.explain.numbers import Numbers, OperatorNumbers
from rheostat.explain.timeline import TimelineEntry
from rheostat.explain.turns import ExplainedDecision
from rheostat.loop.turn import Ruling

_INDENT = " " * 6
_RULINGS = {
    Ruling.ACCEPTED: "",
    Ruling.HELD: "",
    Ruling.REFUSED: "refused: ",
    Ruling.DRY_RUN: "dry run, not carried out: ",
}


def run_text(explanation: Explanation) -> str:
    """A run: its header, then its decisions, holds and problems in the order of time."""
    return "\n".join([*_header(explanation), *_timeline(explanation)])


def turn_text(explained: TurnExplanation) -> str:
    """A turn in full."""
    turn = explained.turn
    lines = [
        f"turn at {since_start(turn.since_start_s)}{clock_text(turn.time_s)}, run {turn.run}, "
        f"policy {explained.policy}, {_sla_text(explained.slas)}"
    ]
    if turn.numbers is not None:
        lines.append(f"  pipeline: {_pipeline(turn.numbers)}")
        lines += [f"  {name}: {_operator(numbers)}" for name, numbers in turn.numbers.operators.items()]
    lines += [f"  settling: {', '.join(turn.settling)}"] if turn.settling else []
    lines += [f"  problem: {problem}" for problem in turn.problems]
    for decision in turn.decisions:
        lines.append(f"  {decision.subject}: {_decided(decision)}")
        lines += _outcome(decision)
    return "\n".join(lines)


def _header(run: Explanation) -> Iterator[str]:
    started = clock_text(run.started_s)
    yield (
        f"run {run.run} of {run.topology}{started}: policy {run.policy}, {_sla_text(run.slas)}, "
        f"{run.turns:,} turns in {since_start(run.duration_s)}"
    )
    if not run.complete:
        yield "  the oldest snapshots were deleted: decisions from that time have no numbers, and holds are missing"
    if not run.entries:
        yield "  no turn was recorded" if not run.turns else "  nothing was decided"


def _sla_text(slas: Sequence[str]) -> str:
    return f"SLA {' and '.join(slas)}" if slas else "no SLA"


def _timeline(run: Explanation) -> Iterator[str]:
    in_order: list[TimelineEntry | ProblemEntry] = sorted(
        [*run.problems, *run.entries], key=lambda entry: entry.since_s
    )
    for entry in in_order:
        if isinstance(entry, ProblemEntry):
            yield f"  {since_start(entry.since_s)}  problem: {entry.place}: {entry.what or 'works again'}"
        else:
            yield from _entry(entry)


def _entry(entry: TimelineEntry) -> Iterator[str]:
    decision, subjects = entry.decision, ", ".join(entry.subjects)
    when = since_start(entry.since_s)
    if entry.turns > 1:
        lasted_s = entry.until_s - entry.since_s
        when += f" to {since_start(entry.until_s)} ({entry.turns} turns, {human(lasted_s)})"
    yield f"  {when}  {subjects}: {_decided(decision)}"
    if decision.ruling is not Ruling.HELD:
        if entry.numbers is None:
            yield f"{_INDENT}measured: the snapshot was deleted"
        else:
            yield from _measured(entry.numbers)
        yield from _outcome(decision)


def _decided(decision: ExplainedDecision) -> str:
    if decision.ruling is Ruling.HELD:
        return f"hold: {decision.reason.removesuffix(': hold')}"
    refusal = f" ({decision.refusal})" if decision.ruling is Ruling.REFUSED else ""
    return f"{_RULINGS[decision.ruling]}{decision.decision}{refusal}: {decision.reason}"


def _measured(numbers: Numbers) -> Iterator[str]:
    yield f"{_INDENT}measured: {_pipeline(numbers)}"
    for name, each in numbers.operators.items():
        yield f"{_INDENT}measured: {name}: {_operator(each)}"


def _outcome(decision: ExplainedDecision) -> Iterator[str]:
    if decision.predicted is not None and (predicted := _effect(decision.predicted)):
        yield f"{_INDENT}predicted: {predicted}"
    if decision.ruling is Ruling.ACCEPTED:
        observed = "" if decision.observed is None else _effect(decision.observed)
        yield f"{_INDENT}observed: {'; '.join(filter(None, (observed, decision.outcome))) or 'not known yet'}"


def _effect(effect: Effect) -> str:
    parts = [
        None if effect.latency_s is None else f"latency {human(effect.latency_s)}",
        None if effect.utilisation is None else f"utilisation {effect.utilisation:.0%}",
        None if effect.executors is None else executors(effect.executors),
    ]
    return ", ".join(part for part in parts if part is not None)


def _pipeline(numbers: Numbers) -> str:
    return f"{_rate(numbers.external_rate)} enter, {_latency(numbers.latency_s, numbers.sla_s)}"


def _operator(it: OperatorNumbers) -> str:
    waiting = "" if not it.oldest_s else f" (oldest {human(it.oldest_s)})"
    queued = "unknown" if it.queued is None else f"{it.queued:,.0f}"
    served = executors(it.executors) if it.executors == it.planned else f"{it.executors} of {executors(it.planned)}"
    utilisation = "unknown" if it.utilisation is None else f"{it.utilisation:.0%}"
    return (
        f"{_rate(it.arrival_rate)} in, {_rate(it.completion_rate)} out, {_rate(it.service_rate)} per executor, "
        f"utilisation {utilisation}, backlog {queued}{waiting}, {_latency(it.latency_s, it.sla_s)}, {served}"
    )


def _rate(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:,.4g}/s" if rate < 1000 else f"{rate:,.0f}/s"


def _latency(latency_s: float | None, sla_s: float | None) -> str:
    limit = "" if sla_s is None else f" (SLA {human(sla_s)})"
    return f"latency {'unknown' if latency_s is None else human(latency_s)}{limit}"
