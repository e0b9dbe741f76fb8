"""Action counts against hand-made turns and points."""

from collections.abc import Sequence

import pytest

from rheostat.decision import Decision, Hold, Move, Scale, Transfer
from rheostat.experiments.comparison.action_counts import ActionCounter, longest_out_of_sla_s
from rheostat.experiments.time_series import SeriesPoint
from rheostat.loop.turn import Ruling, Turn, Verdict
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("line", [Source("in"), Operator("a", inputs=["in"]), Operator("b", inputs=["a"])])


class Loop:
    """Makes turns in which decisions are accepted, for a counter that listens."""

    def __init__(self, **sizes: int) -> None:
        self.counter = ActionCounter()
        self._plan = Plan.initial(TOPOLOGY, sizes or {"a": 2, "b": 2})

    def turn(self, time_s: float, *decisions: Decision, ruling: Ruling = Ruling.ACCEPTED) -> None:
        plan = self._plan
        for decision in decisions:
            if isinstance(decision, Scale) and ruling is Ruling.ACCEPTED:
                plan = plan.after(decision)
        verdicts = tuple(Verdict(decision, ruling) for decision in decisions)
        self.counter(Turn(time_s=time_s, before=self._plan, plan=plan, verdicts=verdicts))
        self._plan = plan

    def scaled(self, *steps: tuple[float, str, int]) -> "Loop":
        for time_s, pool, size in steps:
            self.turn(time_s, scale(pool, size))
        return self


def scale(pool: str, size: int) -> Scale:
    return Scale(pool=PoolName(pool), executors=size, reason="test")


def points(*met: bool | None, period_s: float = 10.0) -> list[SeriesPoint]:
    return [
        SeriesPoint(
            time_s=number * period_s, input_rate=1.0, latency_s=1.0, backlog=0, executors={"a": 2}, sla_met=is_met
        )
        for number, is_met in enumerate(met)
    ]


def test_accepted_scalings_and_moves_are_counted() -> None:
    loop = Loop()
    loop.turn(0, scale("a", 3), scale("b", 1))
    loop.turn(1, Move(operator=OperatorName("b"), transfers=(Transfer((0,), 0, 1),), reason="test"))
    loop.turn(2, Hold(pool=PoolName("a"), reason="test"), ruling=Ruling.HELD)
    loop.turn(3, scale("a", 9), ruling=Ruling.REFUSED)
    counts = loop.counter.counts(points(True))
    assert (counts.scalings, counts.moves) == (2, 1)


@pytest.mark.parametrize(
    ("steps", "reversals"),
    [
        ([(0, "a", 4), (60, "a", 2)], 1),
        ([(0, "a", 4), (61, "a", 2)], 0),
        ([(0, "a", 4), (10, "b", 1)], 0),
        ([(0, "a", 1), (10, "a", 2)], 0),
        ([(0, "a", 4), (10, "a", 6), (20, "a", 5)], 1),
        ([(0, "a", 4), (10, "a", 6), (20, "a", 3)], 2),
        ([(0, "a", 4), (10, "a", 3), (20, "a", 2)], 1),
        ([(0, "a", 4), (10, "a", 2), (20, "a", 4), (30, "a", 2)], 2),
        ([(0, "a", 4), (50, "a", 6), (70, "a", 2)], 1),
    ],
    ids=[
        "within a minute", "later", "another pool", "in and out again", "only the last of two", "both of two",
        "in two steps", "twice", "the older one is out of date",
    ],
)  # fmt: skip
def test_a_scale_out_that_is_taken_back_within_a_minute_is_a_reversal(
    steps: Sequence[tuple[float, str, int]], reversals: int
) -> None:
    assert Loop().scaled(*steps).counter.counts([]).reversals == reversals


@pytest.mark.parametrize(
    ("steps", "met", "late"),
    [
        ([(20, "a", 1)], [True, True, False], 1),
        ([(20, "a", 1)], [True, False, True], 0),
        ([(20, "a", 3)], [True, True, False], 0),
        ([(20, "a", 1)], [True, False, None], 1),
        ([(25, "a", 1)], [True, True, False, True], 1),
        ([(20, "a", 1)], [None, None, None], 0),
        ([(20, "a", 1), (20, "b", 1)], [True, True, False], 2),
    ],
    ids=["missed", "met again", "a scale-out", "no window since", "between points", "no window yet", "two pools"],
)
def test_a_scale_in_is_late_if_the_last_window_missed_the_sla(
    steps: Sequence[tuple[float, str, int]], met: Sequence[bool | None], late: int
) -> None:
    assert Loop().scaled(*steps).counter.counts(points(*met)).scale_ins_late == late


@pytest.mark.parametrize(
    ("met", "longest_s"),
    [
        ([], 0),
        ([None, True, True], 0),
        ([True, False, True], 10),
        ([True, False, False, True, False], 20),
        ([True, False, None, False, True], 30),
        ([True, False, None, None], 10),
        ([None, None, False], 10),
    ],
)
def test_the_longest_time_out_of_the_sla(met: Sequence[bool | None], longest_s: float) -> None:
    assert longest_out_of_sla_s(points(*met)) == longest_s
