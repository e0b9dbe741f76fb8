"""Decisions and counts in words, for reasons, reports and terminals."""

from collections.abc import Iterable, Iterator

from rheostat.decision import Decision, Fuse, Move, Place, Regroup, Scale, Split, Transfer


def executors(number: float) -> str:
    """ "1 executor", "3 executors"."""
    return f"{number:.0f} executor{'' if number == 1 else 's'}"


def describe(decision: Decision | None) -> str:
    """What is to be done, without the reason: "scale to 3 executors"; None is a hold."""
    match decision:
        case Scale():
            return "; ".join(
                [f"scale to {executors(decision.executors)}", *_besides(decision), *_moves(decision.moves)]
            )
        case Move():
            return "; ".join(_moves(decision.moves)) or "move nothing"
        case Place():
            return "place " + ", ".join(f"{e} on {spot.node}" for e, spot in decision.locations.items())
        case Regroup():
            return f"group by {decision.grouping}"
        case Fuse():
            return f"fuse {' and '.join(decision.others)} with it"
        case Split():
            return f"split it from what it is fused with, {executors(decision.executors)} for each"
    return "hold"


def _besides(decision: Scale) -> Iterator[str]:
    if decision.leaving:
        yield f"without {', '.join(map(str, decision.leaving))}"
    if decision.standby is not None:
        yield f"keep {decision.standby} warm besides"


def _moves(moves: Iterable[Transfer]) -> list[str]:
    return [f"move {_substreams(move.substreams)} from {move.source} to {move.target}" for move in moves]


def _substreams(substreams: tuple[int, ...]) -> str:
    named = ", ".join(map(str, substreams[:4])) + (", ..." if len(substreams) > 4 else "")
    return f"{len(substreams)} substream{'' if len(substreams) == 1 else 's'} ({named})"
