"""What PA-SPS plans from observations written by hand: everything measured and every option has its effect."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from rheostat.decision import Decision
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.expectation import Expectation
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import OperatorState, Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

LINE = Topology("line", [Source("input"), Operator("one", inputs="input"), Operator("two", inputs="one")])
TD_S = 10
MEASURED = OperatorMeasures(queued=0.0, completion_rate=10.0, service_rate=10.0)
"""An event takes 100 ms, so that 100 events in `TD_S` are work for one executor."""


def observations(rates: Sequence[float], plan: Plan, share: float) -> list[Observation]:
    """One each second, of an input of `rates`; `two` gets `share` of what `one` completes."""
    seen = []
    for time_s, rate in enumerate([None, *rates]):
        states = (OperatorState("one", completed=100 * time_s), OperatorState("two", completed=0))
        streams = (StreamState("one", "two", rows=round(100 * time_s * share)),)
        measures = Measures(1.0, dict.fromkeys(LINE.operators, MEASURED), external_rate=rate)
        seen.append(Observation(Snapshot(float(time_s), states, streams=streams), measures, plan))
    return seen


def planned(
    rates: Sequence[float],
    *,
    share: float = 1.0,
    plan: Plan | None = None,
    budget: Budget | None = None,
    name: str = "pa-sps",
    **options: Any,
) -> tuple[list[Decision], Expectation]:
    """What is decided at the last second of `rates`, and what is expected from then on."""
    predictor = {} if name == "psps" else {"predictor": "basic"}
    policy = make_policy(name, Goal(LINE, budget=budget or Budget()), {"td": f"{TD_S}s", **predictor, **options})
    decided: Sequence[Decision] = ()
    for observation in observations(rates, plan or Plan.initial(LINE), share):
        decided = policy.decide(msgspec.structs.replace(observation, budget=policy.goal.budget))
    return list(decided), policy.expectation  # type: ignore[attr-defined]


def sizes(decided: Sequence[Decision]) -> list[int | None]:
    return [decision.predicted.executors if decision.predicted else None for decision in decided]


def wavy(seconds: int) -> list[float]:
    return [100 + 40 * math.sin(second / 3) for second in range(seconds)]


@pytest.mark.parametrize(("share", "expected"), [(1.0, [10, 10]), (0.5, [10, 5]), (2.0, [10, 20])])
def test_shares_are_those_that_went_over_the_streams_not_those_declared(share: float, expected: list[int]) -> None:
    decided, _ = planned([100.0] * 2 * TD_S, share=share)
    assert sizes(decided) == expected


def test_forecasts_are_made_from_the_last_samples_only() -> None:
    """A rise that ended before the window: a line through the window alone is flat."""
    rates = [5.0 * second for second in range(20)] + [100.0] * TD_S
    flat, _ = planned(rates, predictor="linear", window=TD_S)
    rising, _ = planned(rates, predictor="linear", window=100)
    assert flat[0].reason.startswith("linear expects 1,000 events")
    assert not rising[0].reason.startswith("linear expects 1,000 events")


@pytest.mark.parametrize("name", ["pa-sps", "psps"])
def test_the_next_interval_is_as_this_one_however_short_the_window_is(name: str) -> None:
    """All that came in the last interval came in its last two seconds."""
    _, expected = planned([0.0] * 8 + [100.0] * 2, name=name, window=2)
    assert expected.events == pytest.approx(200.0)


def test_a_seed_reaches_the_predictor() -> None:
    one, same, other = (planned(wavy(3 * TD_S), predictor="ann", seed=seed)[1].events for seed in (1, 1, 2))
    assert one == same != other


def test_the_level_says_how_seldom_the_input_planned_for_is_exceeded() -> None:
    mean, half, most = (
        sizes(planned(wavy(3 * TD_S), **told)[0])[0] or 0
        for told in ({"plan_for": "mean"}, {"plan_for": "high", "level": 0.5}, {"plan_for": "high", "level": 0.999})
    )
    assert mean < half < most


def test_an_operator_gets_at_least_what_the_budget_says() -> None:
    assert sizes(planned([20.0] * TD_S, budget=Budget(least={"two": 7}))[0]) == [2, 7]


def test_operators_that_share_a_pool_need_what_both_need() -> None:
    shared = Plan.initial(LINE, 1, shared=[("one", "two")])
    decided, _ = planned([100.0] * 2 * TD_S, share=0.5, plan=shared)
    assert sizes(decided) == [15]


@pytest.mark.parametrize("name", ["pa-sps", "psps"])
def test_what_is_expected_is_the_next_interval(name: str) -> None:
    _, expected = planned([70.0] * TD_S, name=name)
    assert expected == Expectation(TD_S, 2 * TD_S, *[pytest.approx(700.0)] * 3)


def test_with_a_lead_more_is_planned_for_but_the_next_interval_is_what_is_expected() -> None:
    rates = [10.0 * second for second in range(1, 41)]
    near, far = (planned(rates, predictor="linear", lead=lead) for lead in ("0s", "20s"))
    assert near[1] == far[1] == Expectation(40.0, 50.0, *[pytest.approx(4550.0)] * 3)
    assert sizes(near[0]) == [46, 46]
    assert (sizes(far[0])[0] or 0) > 46
