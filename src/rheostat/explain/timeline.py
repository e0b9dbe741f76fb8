"""Timeline: the decisions of a run in order, with equal holds and refusals of successive turns in one entry."""

import re
from collections.abc import Hashable, Iterable, Iterator

import msgspec

from rheostat.explain.numbers import Numbers
from rheostat.explain.turns import ExplainedDecision, ExplainedTurn
from rheostat.loop.turn import Ruling

_NUMBERS = re.compile(r"(\d[\d.,]*(e[+-]?\d+)?\s?(us|ms|s|m|h|d|%)?\b\s?)+")


class TimelineEntry(msgspec.Struct, frozen=True):
    """A decision, or a hold or refusal that lasted for several `turns`; times are since the start of the run.

    `subjects` are the pools or operators that it was about, `decision` and `numbers` are those of the last turn.
    """

    since_s: float
    until_s: float
    turns: int
    subjects: tuple[str, ...]
    decision: ExplainedDecision
    numbers: Numbers | None


def timeline(turns: Iterable[ExplainedTurn], operator: str | None = None) -> list[TimelineEntry]:
    """The entries in the order in which they began; with `operator` only those about it.

    Reasons that differ in numbers only count as equal.
    """
    finished: list[TimelineEntry] = []
    lasting: dict[Hashable, TimelineEntry] = {}
    for turn in turns:
        present = dict(_entries(turn, operator))
        finished += [entry for key, entry in lasting.items() if key not in present]
        lasting = {key: _continued(lasting[key], entry) if key in lasting else entry for key, entry in present.items()}
    return sorted([*finished, *lasting.values()], key=lambda entry: entry.since_s)


def _entries(turn: ExplainedTurn, operator: str | None) -> Iterator[tuple[Hashable, TimelineEntry]]:
    """The entries of one turn, each with what makes it equal to one of the next turn."""
    alike: dict[Hashable, list[ExplainedDecision]] = {}
    for decision in turn.decisions:
        if operator is None or operator in decision.operators:
            alike.setdefault(_alike(decision), []).append(decision)
    for key, decisions in alike.items():
        subjects = tuple(decision.subject for decision in decisions)
        operators = {name for decision in decisions for name in decision.operators}
        numbers = None if turn.numbers is None else turn.numbers.of(operators)
        entry = TimelineEntry(turn.since_start_s, turn.since_start_s, 1, subjects, decisions[-1], numbers)
        yield (key, subjects), entry


def _alike(decision: ExplainedDecision) -> Hashable:
    """Equal for decisions that belong into one entry: holds of several pools, and whatever recurs in the next turn."""
    if decision.ruling is Ruling.HELD:
        return decision.ruling, without_numbers(decision.reason)
    if decision.ruling is Ruling.ACCEPTED:
        return decision.ruling, decision.subject, decision.revision
    said = (without_numbers(decision.reason), without_numbers(decision.refusal))
    return decision.ruling, decision.subject, decision.decision, said


def without_numbers(text: str) -> str:
    """Equal for texts that differ in numbers only."""
    return _NUMBERS.sub("#", text)


def _continued(before: TimelineEntry, now: TimelineEntry) -> TimelineEntry:
    return msgspec.structs.replace(now, since_s=before.since_s, turns=before.turns + 1)
