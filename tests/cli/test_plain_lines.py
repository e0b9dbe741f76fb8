"""Plain lines: what a run prints into a log."""

import io

from msgspec import structs
from rich.console import Console

from rheostat.cli.plain_lines import PlainLines
from rheostat.decision import Hold, Scale
from rheostat.loop.turn import LoopProblem, Ruling, Turn, Verdict
from rheostat.measure.measurer import Measurer
from rheostat.measure.measures import Measures
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.sla import SLA
from rheostat.snapshot import (
    ExecutorPhase,
    ExecutorState,
    Latency,
    OperatorState,
    PartitionState,
    Snapshot,
    StreamState,
    SubstreamState,
)
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("words", [Source("in"), Operator("split", inputs="in")])
PLAN = Plan.initial(TOPOLOGY)
POOL = PoolName("split")
SCALE = Scale(pool=POOL, executors=3, reason="backlog 1,900 rows, 14 s at the present size")


def snapshot(time_s: float) -> Snapshot:
    state = OperatorState("split", arrived=int(10 * time_s) + 1900, completed=int(10 * time_s), lost=0, queued=1900)
    executor = ExecutorState(POOL, 0, ExecutorPhase.ACTIVE)
    return Snapshot(time_s, (state,), (executor,), latency=Latency(10, 1.5))


def printed(turns: list[Turn]) -> list[str]:
    """The lines without the time of day."""
    console = Console(file=io.StringIO(), width=40)
    lines = PlainLines(SLA("2s", "10s"), console)
    for turn in turns:
        lines(turn)
    return [line[10:] for line in console.file.getvalue().splitlines()]


def turn(time_s: float, **fields: object) -> Turn:
    return Turn(time_s=time_s, before=PLAN, plan=PLAN, **fields)  # type: ignore[arg-type]


def measured(time_s: float) -> Turn:
    measures: Measures = Measurer(TOPOLOGY).update(snapshot(time_s), PLAN)
    return turn(time_s, snapshot=snapshot(time_s), measures=measures)


def test_there_is_a_status_line_every_minute() -> None:
    lines = printed([measured(float(second)) for second in range(0, 121, 2)])
    assert len(lines) == 3
    for line in lines:
        assert "latency 1.5s (SLA 2s over 10s), 1 executor, backlog 1,900" in line
        assert line.startswith("input ")


def test_partitions_of_topics_and_substreams_are_told_apart() -> None:
    partitions = tuple(PartitionState("orders", number, 100, queued) for number, queued in enumerate((0, 1200, 7)))
    substreams = tuple(SubstreamState("split", index, queued=index) for index in range(8))
    seen = structs.replace(
        snapshot(1.0), streams=(StreamState("in", "split", partitions=partitions),), substreams=substreams
    )
    [line] = printed([structs.replace(measured(1.0), snapshot=seen)])
    assert line.endswith("(split: 0 to 1,200 wait in each of 3 partitions; split: 0 to 7 wait in each of 8 substreams)")


def test_as_many_that_wait_in_each_part_are_told_once() -> None:
    substreams = tuple(SubstreamState("split", index, queued=3) for index in range(4))
    [line] = printed([structs.replace(measured(1.0), snapshot=structs.replace(snapshot(1.0), substreams=substreams))])
    assert line.endswith("(split: 3 wait in each of 4 substreams)")


def test_each_decision_that_is_carried_out_has_a_line_with_its_reason() -> None:
    verdicts = (
        Verdict(SCALE, Ruling.ACCEPTED, revision=1),
        Verdict(SCALE, Ruling.DRY_RUN),
        Verdict(SCALE, Ruling.REFUSED, "cooldown"),
        Verdict(Hold(pool=POOL, reason="enough"), Ruling.HELD),
    )
    assert printed([turn(1.0, verdicts=verdicts)]) == [
        "split: scale to 3 executors: backlog 1,900 rows, 14 s at the present size",
        "split: would scale to 3 executors: backlog 1,900 rows, 14 s at the present size",
    ]


def test_a_problem_has_a_line_when_it_begins_changes_and_ends() -> None:
    full, down = LoopProblem("apply", "the cluster is [full]"), LoopProblem("apply", "the master is down")
    turns = [turn(1.0, problems=(full,)), turn(2.0, problems=(full,)), turn(3.0, problems=(down,)), turn(4.0)]
    assert printed([*turns, turn(5.0)]) == [
        "problem: apply: the cluster is [full]",
        "problem: apply: the master is down",
        "apply: works again",
    ]
