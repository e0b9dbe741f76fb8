"""Descriptions: decisions and numbers of executors in words, for reasons, reports and terminals."""

from collections.abc import Iterable, Iterator

from rheostat.decision import Decision, Fuse, Move, Place, Regroup, Scale, Split, Transfer
from rheostat.sla import Goal


def executors(number: float) -> str:
    """ "1 executor", "3 executors"."""
    return f"{number:.0f} executor{'' if number == 1 else 's'}"


def resize(before: int, after: int, pool: str = "") -> str:
    """ "scale out parse 2 -> 6", "scale in 6 -> 2", "hold at 2"."""
    if before == after:
        return f"hold at {before}"
    direction = "out" if after > before else "in"
    return " ".join(filter(None, ("scale", direction, pool, f"{before} -> {after}")))


def describe(decision: Decision | None) -> str:
    """What is decided, without the reason: "scale to 3 executors"; None is a hold."""
    match decision:
        case Scale():
            return "; ".join(
                [f"scale to {executors(decision.executors)}", *_besides(decision), *_transfers(decision.transfers)]
            )
        case Move():
            return "; ".join(_transfers(decision.transfers)) or "move nothing"
        case Place():
            return "place " + ", ".join(f"{e} on {spot.node}" for e, spot in decision.locations.items())
        case Regroup():
            return f"group by {decision.grouping}"
        case Fuse():
            return f"fuse {' and '.join(decision.operators)}"
        case Split():
            return f"split {' and '.join(decision.operators)}, {executors(decision.executors)} for each"
    return "hold"


def goal_text(goal: Goal) -> str:
    """ "SLA 5s over 30s; at most 20 executors in all; split: 1 to 4"."""
    budget = goal.budget
    parts = [f"SLA {sla}" for sla in goal.slas] or ["no SLA"]
    parts += [] if budget.total is None else [f"at most {executors(budget.total)} in all"]
    for name in goal.topology.operators:
        if name in budget.least or name in budget.most:
            parts.append(f"{name}: {budget.minimum(name)} to {budget.most.get(name, 'any number')}")
    return "; ".join(parts)


def _besides(decision: Scale) -> Iterator[str]:
    if decision.leaving:
        yield f"without {', '.join(map(str, decision.leaving))}"
    if decision.standby is not None:
        yield f"keep {decision.standby} warm besides"


def _transfers(transfers: Iterable[Transfer]) -> list[str]:
    return [f"move {_substreams(each.substreams)} from {each.source} to {each.target}" for each in transfers]


def _substreams(substreams: tuple[int, ...]) -> str:
    named = ", ".join(map(str, substreams[:4])) + (", ..." if len(substreams) > 4 else "")
    return f"{len(substreams)} substream{'' if len(substreams) == 1 else 's'} ({named})"
