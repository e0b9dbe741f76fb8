from typing import Any

import pytest

from rheostat.experiments.needed_executors import needed_executors, peak_executors
from rheostat.experiments.prediction_errors import PredictionErrorTracker
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate
from rheostat.load import Constant, Step
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Turn
from rheostat.plan import Plan
from rheostat.policies.expectation import Expectation
from rheostat.policies.registry import make_policy
from rheostat.sim.model import OperatorModel, Service, SimModel, SourceModel
from rheostat.sla import Goal
from rheostat.snapshot import Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

LINE = Topology(
    "line", [Source("input"), Operator("one", inputs="input"), Operator("two", inputs="one", selectivity=2)]
)
FIXED = Service(mean="25ms", distribution="fixed")


def model(load: Any = 100.0, executors: int = 4) -> SimModel:
    served = OperatorModel(service=FIXED, executors=executors)
    shape = load if isinstance(load, Step) else Constant(load)
    return SimModel(LINE, {"input": SourceModel(shape, scv=0.0)}, {"one": served, "two": served})


def turn(time_s: float, entered: int, executors: int) -> Turn:
    plan = Plan.initial(LINE, executors)
    return Turn(
        time_s=time_s,
        before=plan,
        plan=plan,
        snapshot=Snapshot(time_s, (), streams=(StreamState("input", "one", entered),)),
    )


class Expecting:
    expectation: Expectation | None = None


def test_needed_executors_are_rate_times_service_time_rounded_up_at_each_operator() -> None:
    assert needed_executors(model(), {"input": 100.0}) == 3 + 3
    assert needed_executors(model(), {"input": 80.0}) == 2 + 2
    assert needed_executors(model(), {"input": 0.0}) == 1 + 1


def test_the_peak_needs_what_its_rate_needs() -> None:
    assert peak_executors(model(Step(steps=((0, 10), ("1m", 200), ("70s", 10)))), 300.0) == 5 + 5


def test_planned_executors_are_compared_with_those_that_the_true_input_needed() -> None:
    tracker = PredictionErrorTracker(model(), make_policy("static", Goal(LINE), {}))
    for time_s, entered, executors in ((0, 0, 1), (15, 1500, 2), (30, 3000, 2), (60, 9000, 4)):
        tracker(turn(time_s, entered, executors))
    result = tracker.result()
    # First 100/s: 6 needed, 2 and 4 planned. Then 200/s: 10 needed, 4 planned.
    assert result.needed_executors == pytest.approx((6 + 10) / 2)
    assert result.replica_error == pytest.approx((3 / 6 + 6 / 10) / 2)


def test_a_policy_without_forecasts_is_taken_to_expect_the_interval_before() -> None:
    tracker = PredictionErrorTracker(model(), make_policy("static", Goal(LINE), {}))
    for time_s, entered in ((0, 0), (30, 1000), (60, 3000), (90, 3000), (120, 4000)):
        tracker(turn(time_s, entered, 1))
    assert tracker.result().input_error == pytest.approx((1000 / 2000 + 1000 / 1000) / 2)


def test_forecasts_are_compared_with_the_true_input_of_their_interval() -> None:
    policy: Any = Expecting()
    tracker = PredictionErrorTracker(model(), policy)
    tracker(turn(0, 0, 1))
    policy.expectation = Expectation(10, 20, 900)
    tracker(turn(10, 1000, 1))
    tracker(turn(15, 1500, 1))
    tracker(turn(20, 2000, 1))
    assert tracker.result().input_error == pytest.approx(0.1)


def test_nothing_to_compare_gives_nothing() -> None:
    tracker = PredictionErrorTracker(model(), make_policy("static", Goal(LINE), {}))
    tracker(turn(0, 0, 1))
    assert tracker.result().input_error is None
    assert tracker.result().replica_error is None


def test_the_six_metrics_of_a_steady_run_are_exact() -> None:
    scenario = Scenario("steady", 120.0, model(executors=4), Goal(LINE), LoopOptions(1), "static", {})
    result = simulate(scenario)
    assert result.saved_resources == pytest.approx(1 - 8 / 6, abs=0.001)
    assert result.saved_executor_seconds == pytest.approx(1 - 8 / 6, abs=0.001)
    assert result.throughput_degradation == pytest.approx(0.0, abs=0.01)
    assert result.processed_share == pytest.approx(1.0, abs=0.001)
    assert result.mean_latency_s == pytest.approx(0.05)
    assert result.prediction_errors.input_error == pytest.approx(0.0, abs=0.001)
    assert result.prediction_errors.replica_error == pytest.approx(2 / 6)
