"""Run view: what the page has to know of a run beside its numbers: topology, goals, policy, and who intervened."""

from importlib.metadata import version
from typing import Any

import msgspec

from rheostat.journal import Journal
from rheostat.journal.goal_record import GoalRecord
from rheostat.journal.points import PointTotals
from rheostat.journal.records import Command, RunRecord


class TopologyPart(msgspec.Struct, frozen=True):
    """A source or an operator of the topology."""

    name: str
    source: bool
    key: str | None = None
    substreams: int | None = None


class StreamEdge(msgspec.Struct, frozen=True):
    """A stream between two parts."""

    name: str
    producer: str
    consumer: str


class GoalSpan(msgspec.Struct, frozen=True):
    """A goal and a policy, and from when on they were in force. `limits` are its SLAs ("5s/30s") by their scope."""

    from_s: float
    slas: tuple[str, ...]
    limits: dict[str, str]
    limit_s: float | None
    window_s: float | None
    total: int | None
    least: dict[str, int]
    most: dict[str, int]
    policy: str
    options: dict[str, Any]


class RunView(msgspec.Struct, frozen=True):
    """A whole run. `goals` are in the order of time; the last one is in force."""

    topology: str
    version: str
    parts: list[TopologyPart]
    edges: list[StreamEdge]
    goals: list[GoalSpan]
    totals: PointTotals
    commands: list[Command]


def run_view(journal: Journal) -> RunView | None:
    """The run in `journal`; None as long as it has not begun."""
    runs = list(journal.runs().values())
    if not runs:
        return None
    topology = runs[-1].goal.goal().topology
    parts = [TopologyPart(source, True) for source in topology.sources]
    parts += [TopologyPart(name, False, each.key, each.substreams) for name, each in topology.operators.items()]
    return RunView(
        topology=topology.name,
        version=version("rheostat"),
        parts=parts,
        edges=[StreamEdge(stream.name, stream.producer, stream.consumer) for stream in topology.streams],
        goals=[_span(run) for run in runs],
        totals=journal.totals(),
        commands=journal.commands()[-_MOST_COMMANDS:],
    )


_MOST_COMMANDS = 500


def _span(run: RunRecord) -> GoalSpan:
    record: GoalRecord = run.goal
    goal = record.goal()
    sla, budget = goal.end_to_end or next(iter(goal.slas), None), record.budget
    return GoalSpan(
        from_s=run.started_s,
        slas=tuple(map(str, goal.slas)),
        limits={sla.scope: f"{sla.latency_s:g}s/{sla.window_s:g}s" for sla in reversed(goal.slas)},
        limit_s=None if sla is None else sla.latency_s,
        window_s=None if sla is None else sla.window_s,
        total=budget.total,
        least=budget.least,
        most=budget.most,
        policy=run.policy,
        options=run.options,
    )
