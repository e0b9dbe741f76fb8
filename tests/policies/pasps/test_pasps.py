"""PA-SPS and PSPS as policies: in the loop, on plants made of arithmetic and on the simulator."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rheostat.capabilities import Capabilities
from rheostat.decision import Decision, Hold, Regroup, Scale
from rheostat.errors import ConfigError
from rheostat.experiments.scenario import Scenario, ScenarioFile, make_scenario, read_scenario
from rheostat.experiments.simulate import simulate
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Turn
from rheostat.measure.measurer import Measurer
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import ExecutorPhase, OperatorState, Snapshot
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

FIGURE_4 = Topology("figure 4", [Source("input"), *(Operator(f"o{n}", inputs="input") for n in (1, 2, 3))])
LINE = Topology("line", [Source("input"), Operator("one", inputs="input"), Operator("two", inputs="one")])
SCENARIOS = Path(__file__).parents[3] / "scenarios"


def as_printed(policy: str, options: dict[str, Any]) -> dict[str, Any]:
    """`options`, with those of the paper where nothing else is said."""
    printed = {"keep": 0, "plan_for": "mean"} if policy == "pa-sps" else {"keep": 0}
    return {**printed, **options}


def decisions(plant: FakePlant, goal: Goal, policy: str, seconds: int, **options: Any) -> dict[float, list[Decision]]:
    """What is decided by the second, in a loop that turns each second."""
    periods: list[Turn] = []
    controller = Controller(
        plant,
        make_policy(policy, goal, as_printed(policy, options)),
        goal,
        options=LoopOptions(1),
        listeners=[periods.append],
    )
    controller.run(until_s=seconds)
    return {p.time_s: [verdict.decision for verdict in p.verdicts] for p in periods if p.verdicts}


def sizes(decided: list[Decision]) -> list[int | None]:
    return [decision.predicted.executors if decision.predicted else None for decision in decided]


@pytest.mark.parametrize("policy", ["pa-sps", "psps"])
def test_figure_4_in_the_loop(policy: str) -> None:
    plant = FakePlant(
        FIGURE_4, arrival_rate=20, service_rate={"o1": 10, "o2": 20, "o3": 5}, plan=Plan.initial(FIGURE_4, 4)
    )
    options = {"predictor": "linear"} if policy == "pa-sps" else {}
    goal = Goal(FIGURE_4, budget=Budget(least={"o1": 1}))
    controller = Controller(
        plant,
        make_policy(policy, goal, as_printed(policy, {"td": "1s", **options})),
        goal,
        options=LoopOptions(1),
        plan=Plan.initial(FIGURE_4, 4),
    )
    controller.run(until_s=4)
    assert {name: controller.plan.size(name) for name in FIGURE_4.operators} == {"o1": 2, "o2": 1, "o3": 4}


def test_it_decides_every_td_and_says_nothing_in_between() -> None:
    decided = decisions(FakePlant(LINE, arrival_rate=250), Goal(LINE), "psps", 70, td="30s")
    assert list(decided) == [30, 60]


def test_what_is_queued_comes_on_top_of_what_is_expected_there_and_further_down() -> None:
    decided = decisions(FakePlant(LINE, arrival_rate=300), Goal(LINE), "psps", 10, td="10s")
    # 300/s came and 100/s were served: 2,000 wait at the first, and 3,000 more are expected, for 1,000 per replica.
    assert sizes(decided[10]) == [5, 5]
    assert "psps" not in decided[10][0].reason
    assert decided[10][0].reason == (
        "basic expects 3,000 events in the next 10s, with the backlog work for 5.00 executors: "
        "scale out 1 -> 5, expected utilisation 100%"
    )


def test_a_td_that_is_no_multiple_of_a_sample_is_planned_for_as_it_is() -> None:
    plant = FakePlant(LINE, arrival_rate=250, plan=Plan.initial(LINE, 3))
    decided = decisions(plant, Goal(LINE), "psps", 90, td="30s", sample="20s")
    assert decided[90][0].reason.startswith("basic expects 7,500 events in the next 30s")
    assert sizes(decided[90]) == [3, 3]


def test_a_straight_line_scales_before_the_rise_where_basic_comes_after_it() -> None:
    def rising(time_s: float) -> float:
        return 10.0 * time_s

    needed = 10 * 45 / 100  # at second 45, the middle of the interval decided for at second 30
    ahead, behind = (
        decisions(
            FakePlant(LINE, arrival_rate=rising, service_rate=100, plan=Plan.initial(LINE, 9)),
            Goal(LINE),
            name,
            30,
            **o,
        )
        for name, o in (("pa-sps", {"predictor": "linear"}), ("psps", {}))
    )
    assert (sizes(ahead[30])[0] or 0) >= needed > (sizes(behind[30])[0] or 0)


@pytest.mark.parametrize(
    ("slope", "lead", "expected"),
    [
        (10.0, "0s", "4,550 events in the next 10s"),  # 410 to 500, as each second has the rate of its end
        (10.0, "20s", "7,000 events in 10s, at the busiest of the next 30s"),  # the rate at the end is taken to last
        (10.0, "1500ms", "5,200 events in 10s, at the busiest of the next 11.5s"),  # in whole samples: 410 to 520
        (-10.0, "20s", "5,450 events in 10s, at the busiest of the next 30s"),
    ],
)
def test_with_a_lead_the_busiest_interval_within_it_counts(slope: float, lead: str, expected: str) -> None:
    def straight(time_s: float) -> float:
        return slope * time_s + (1000.0 if slope < 0 else 0.0)

    plant = FakePlant(LINE, arrival_rate=straight, service_rate=1000, plan=Plan.initial(LINE, 1))
    options = {"predictor": "linear", "td": "10s", "lead": lead}
    decided = decisions(plant, Goal(LINE), "pa-sps", 40, **options)
    assert decided[40][0].reason.startswith(f"linear expects {expected}, with the backlog work for ")


def test_psps_is_pa_sps_with_the_basic_predictor() -> None:
    def swinging(time_s: float) -> float:
        return 300 + 200 * math.sin(time_s / 20)

    one, other = (
        decisions(FakePlant(LINE, arrival_rate=swinging), Goal(LINE), name, 200, **options)
        for name, options in (("psps", {}), ("pa-sps", {"predictor": "basic"}))
    )
    assert one == other


def test_replicas_are_at_most_the_pool_and_the_budget() -> None:
    plant = FakePlant(LINE, arrival_rate=1000)
    assert sizes(decisions(plant, Goal(LINE), "psps", 30, pool=3)[30]) == [3, 3]
    goal = Goal(LINE, budget=Budget(total=7, most={"two": 2}))
    assert sizes(decisions(FakePlant(LINE, arrival_rate=1000), goal, "psps", 30)[30]) == [5, 2]


def test_headroom_and_the_upper_bound_ask_for_more() -> None:
    def first(**options: Any) -> int:
        plant = FakePlant(LINE, arrival_rate=lambda s: 400 + 40 * (s % 2), service_rate=450, plan=Plan.initial(LINE, 2))
        found = sizes(decisions(plant, Goal(LINE), "pa-sps", 30, predictor="basic", **options)[30])[0]
        assert found is not None
        return found

    assert (first(), first(headroom=0.5), first(plan_for="high", level=0.99)) == (1, 2, 2)


def test_an_unknown_queue_holds_everything() -> None:
    policy = make_policy("psps", Goal(LINE), {"td": "1s"})
    measurer, plan = Measurer(LINE), Plan.initial(LINE)
    for time_s in (0, 1, 2):
        states = (OperatorState("one", 10 * time_s, 10 * time_s, 0, 0), OperatorState("two", completed=0))
        seen = Snapshot(time_s, states)
        decided = policy.decide(Observation(seen, measurer.update(seen, plan), plan, budget=policy.goal.budget))
    assert [type(each) for each in decided] == [Hold, Hold]
    assert decided[0].reason == "the backlog of two was not measured: hold"


def test_without_any_input_measured_it_holds() -> None:
    policy = make_policy("psps", Goal(LINE), {"td": "1s"})
    measurer, plan = Measurer(LINE), Plan.initial(LINE)
    for time_s in (0, 1):
        seen = Snapshot(time_s, ())
        decided = policy.decide(Observation(seen, measurer.update(seen, plan), plan, budget=policy.goal.budget))
    assert {each.reason for each in decided} == {"the input was not measured yet: hold"}


def test_a_fallback_to_basic_is_said_in_the_reason() -> None:
    decided = decisions(FakePlant(LINE), Goal(LINE), "pa-sps", 30, predictor="fft")
    assert "30 samples are too few for fft, which needs 40: basic instead" in decided[30][0].reason


def test_a_change_under_way_is_waited_for() -> None:
    decided = decisions(FakePlant(LINE, arrival_rate=300, settle_s=25), Goal(LINE), "psps", 20, td="10s")
    assert isinstance(decided[10][0], Scale)
    assert decided[20][0].reason == "settling after the last action: hold"


def busy(
    topology: Topology, plan: Plan, settling: tuple[str, ...] = (), budget: Budget | None = None
) -> list[Decision]:
    """What is decided where each operator has work for ten executors."""
    policy = make_policy("psps", Goal(topology, budget=budget or Budget()), {"td": "1s"})
    measured = OperatorMeasures(queued=0.0, completion_rate=10.0, service_rate=10.0)
    measures = Measures(1.0, dict.fromkeys(topology.operators, measured), external_rate=100.0)
    for time_s in (0.0, 1.0):
        decided = policy.decide(
            Observation(Snapshot(time_s, ()), measures, plan, frozenset(settling), budget=policy.goal.budget)
        )
    return list(decided)


def test_before_anything_is_measured_the_calibrated_execution_times_count() -> None:
    times = {"one": "100ms", "two": "50ms"}
    policy = make_policy("psps", Goal(LINE), {"td": "1s", "execution_time": times})
    measures = Measures(1.0, dict.fromkeys(LINE.operators, OperatorMeasures(queued=0.0)), external_rate=100.0)
    for time_s in (0.0, 1.0):
        decided = policy.decide(
            Observation(Snapshot(time_s, ()), measures, Plan.initial(LINE), budget=policy.goal.budget)
        )
    assert sizes(list(decided)) == [10, 5]


@pytest.mark.parametrize("grouping", ["load-aware", "osg", "batch-greedy"])
def test_records_are_spread_as_told_from_the_first_turn_on(grouping: str) -> None:
    policy = make_policy("pa-sps", Goal(LINE), {"predictor": "basic", "grouping": grouping})
    measures = Measures(1.0, dict.fromkeys(LINE.operators, OperatorMeasures()))
    seen = Snapshot(0.0, (OperatorState("one", grouping="round-robin"), OperatorState("two")))
    plan, offered = Plan.initial(LINE), Capabilities(groupings={"one": ("round-robin", grouping)})
    [decided] = policy.decide(Observation(seen, measures, plan, capabilities=offered))
    assert decided == Regroup(
        operator="one",
        grouping=grouping,
        reason=f"records are spread by round-robin, {grouping} is configured: regroup",
    )
    assert list(policy.decide(Observation(seen, measures, plan.after(decided), capabilities=offered))) == []


def test_unless_told_records_are_spread_as_they_are() -> None:
    policy = make_policy("psps", Goal(LINE), {})
    seen = Snapshot(0.0, (OperatorState("one", grouping="round-robin"),))
    offered = Capabilities(groupings={"one": ("round-robin", "osg")})
    measures = Measures(1.0, dict.fromkeys(LINE.operators, OperatorMeasures()))
    assert list(policy.decide(Observation(seen, measures, Plan.initial(LINE), capabilities=offered))) == []


def test_a_pool_that_settles_keeps_its_share_of_the_budget() -> None:
    plan, budget = Plan.initial(LINE, {"one": 4, "two": 1}), Budget(total=6)
    settled, other = busy(LINE, plan, settling=("one",), budget=budget)
    assert isinstance(settled, Hold)
    assert sizes([other]) == [2]
    assert sizes(busy(LINE, plan, budget=budget)) == [3, 3]


def test_an_executor_without_a_substream_is_not_asked_for() -> None:
    keyed = Topology("keyed", [Source("input"), Operator("count", inputs="input", key="word", substreams=3)])
    assert sizes(busy(keyed, Plan.initial(keyed))) == [3]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"predictor": "crystal-ball"}, "crystal-ball"),
        ({"td": "1s", "sample": "5s"}, "td 1s must be at least one sample of 5s"),
        ({"window": 1}, "window"),
        ({"lead": "-1s"}, "lead"),
        ({"plan_for": "low"}, "option 'plan_for' cannot be 'low': choose high, mean"),
        ({"execution_time": {"one": 0}}, "execution_time of 'one'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make_policy("pa-sps", Goal(LINE), {"predictor": "basic", **options})


def recurring_peaks(**cluster: Any) -> Scenario:
    told = {
        "name": "recurring peaks",
        "duration": "10m",
        "source": [{"name": "input", "load": {"shape": "sine", "base": 300, "amplitude": 250, "period": "60s"}}],
        "operator": [{"name": "work", "inputs": ["input"], "service": {"mean": "10ms"}, **cluster.pop("operator", {})}],
        "sla": [{"latency": "1s"}],
        "budget": {"total": 12},
        "cluster": {"start": 0, **cluster},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), Path())


def test_a_recurring_peak_is_met_in_time_by_a_forecast_and_late_without() -> None:
    """A season of 60 s and an interval of 15 s: what came last is wrong, what came a season ago is right."""
    options = {"td": "15s", "headroom": 0.2, "window": 180, "keep": 0}
    forecast = {"predictor": "seasonal-naive", "plan_for": "mean"}
    ahead = simulate(recurring_peaks(), "pa-sps", {**options, **forecast}, seed=1)
    behind = simulate(recurring_peaks(), "psps", options, seed=1)
    assert ahead.success_rate is not None
    assert behind.success_rate is not None
    assert ahead.success_rate > behind.success_rate + 0.4
    assert ahead.executor_seconds < behind.executor_seconds


def test_it_has_the_simulator_spread_records_by_load() -> None:
    result = simulate(recurring_peaks(), "pa-sps", {"predictor": "basic", "grouping": "load-aware"}, seed=1)
    assert result.decisions["regroup"] == 1


def test_a_warm_replica_is_active_at_once_where_others_take_minutes_to_start() -> None:
    phases: list[set[ExecutorPhase]] = []

    def watch(period: Turn) -> None:
        if period.snapshot is not None:
            phases.append({executor.phase for executor in period.snapshot.executors})

    warm = recurring_peaks(operator={"standby": 8}, start="20m")
    result = simulate(warm, "psps", {"td": "15s"}, seed=1, listeners=[watch])
    cold = simulate(recurring_peaks(start="20m"), "psps", {"td": "15s"}, seed=1)
    assert ExecutorPhase.WARM in phases[0]
    assert result.mean_executors > 2
    assert cold.mean_executors < 1.01
    assert result.executor_seconds > result.mean_executors * result.duration_s  # the warm ones are paid for


def test_a_pool_is_started_once_and_kept_whole() -> None:
    counts: list[int] = []
    active: set[int] = set()

    def watch(period: Turn) -> None:
        if period.snapshot is not None:
            counts.append(len(period.snapshot.executors))
            active.add(sum(each.phase is ExecutorPhase.ACTIVE for each in period.snapshot.executors))

    scenario = recurring_peaks(operator={"standby": 7}, start="20m")
    simulate(scenario, "psps", {"td": "15s", "pool": 8}, seed=1, listeners=[watch])
    assert set(counts) == {8}
    assert len(active) > 2


def test_a_pool_that_is_not_whole_yet_is_filled() -> None:
    plant = FakePlant(LINE, arrival_rate=100)
    one = decisions(plant, Goal(LINE), "psps", 30, pool=3)[30][0]
    assert isinstance(one, Scale)
    assert (one.executors, one.standby) == (1, 2)  # as many serve as before, and the others of the pool stand by


def test_it_controls_micro_batches() -> None:
    scenario = read_scenario(SCENARIOS / "microbatch-spike.toml")
    controlled = simulate(scenario, "pa-sps", {"predictor": "linear", "headroom": 0.3})
    left_alone = simulate(scenario, "static")
    assert (controlled.success_rate or 0) > (left_alone.success_rate or 0)
    assert controlled.decisions["scale"] >= 4
