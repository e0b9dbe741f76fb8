"""The `rheostat` policy on simulated loads: it holds the SLA, returns what it took, and leaves an even load alone."""

import math
from pathlib import Path

import msgspec
import pytest

from rheostat.decision import Regroup
from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.policies.rheostat.policy import Rheostat


def scenario(load, *, duration="10m", operator=None, others=(), cluster=None, total=20, latency="5s", **source):
    work = {
        "name": "work",
        "inputs": ["records"],
        "executors": 2,
        "queues": "batches",
        "batches": {"fixed": "500ms", "per_task": "20ms"},
        "service": {"mean": "20ms"},
        **(operator or {}),
    }
    content = {
        "name": "test",
        "duration": duration,
        "period": "2s",
        "source": [{"name": "records", "load": load, **source}],
        "operator": [work, *({**work, **other} for other in others)],
        "sla": [{"latency": latency, "window": "30s"}],
        "budget": {"total": total},
        "cluster": {"start": "6s", "warm_up": "3s", **(cluster or {})},
    }
    return make_scenario(msgspec.convert(content, ScenarioFile), Path())


def run(made, seed=0):
    turns = []
    return simulate(made, "rheostat", seed=seed, listeners=[turns.append]), turns


def acts(turns):
    return [v.decision for turn in turns for v in turn.verdicts if v.ruling == "accepted"]


@pytest.mark.parametrize("rate", [20, 120, 400])
def test_an_even_load_is_left_alone_after_settling(rate):
    result, turns = run(scenario(rate, duration="30m"))
    late = [turn for turn in turns if turn.time_s > 600]
    assert len(acts(late)) <= 1
    assert result.success_rate > 0.95


def test_a_step_is_answered_at_once_by_as_much_as_it_needs_and_taken_back_after_it():
    made = scenario({"shape": "step", "steps": [[0, 60], ["3m", 240], ["6m", 60]]}, duration="15m")
    result, turns = run(made)
    sizes = {turn.time_s: turn.plan.total for turn in turns}
    assert sizes[192.0] >= 6
    assert sizes[600.0] < sizes[300.0]
    assert sizes[720.0] <= 3
    assert result.success_rate > 0.9


@pytest.mark.parametrize(("start", "kept_s"), [("6s", 30), ("57s", 60)])
def test_executors_are_kept_for_as_long_as_one_takes_to_start(start, kept_s):
    load = {"shape": "step", "steps": [[0, 60], ["4m", 200], ["12m", 60]]}
    _, turns = run(scenario(load, duration="14m", cluster={"start": start, "starts_at_once": "all"}))
    sizes = {turn.time_s: turn.plan.total for turn in turns if turn.time_s >= 720}
    left_s = next(time_s for time_s, size in sizes.items() if size < sizes[720.0]) - 720
    assert kept_s <= left_s <= kept_s + 10


def test_nothing_is_given_back_while_the_sla_is_missed():
    made = scenario({"shape": "step", "steps": [[0, 60], ["3m", 360]]}, total=8)
    _, turns = run(made)
    latencies = [(turn.time_s, turn.measures.latency_s) for turn in turns if turn.measures and turn.measures.latency_s]
    for turn in turns:
        recent = [s for time_s, s in latencies if turn.time_s - 10 <= time_s <= turn.time_s]
        if recent and min(recent) > 5:
            assert turn.plan.total >= turn.before.total


def test_a_surge_of_the_cost_is_sized_within_the_first_batch_that_has_it():
    operator = {"service": {"mean": "4ms"}}
    cost = {"shape": "step", "steps": [[0, 1], ["3m", 10]]}
    made = scenario(200, operator={**operator, "cost": cost}, duration="5m")
    result, turns = run(made)
    surge = [turn for turn in turns if 180 < turn.time_s <= 192]
    assert acts(surge)[0].reason.count("estimated: a record of 'work' costs") == 1
    assert surge[-1].plan.total >= 10, "200/s at 40 ms are 8 executors, and there is a backlog"
    assert result.success_rate > 0.6


def test_hot_keys_lead_to_moves_before_executors():
    keyed = {"key": "word", "substreams": 32, "queues": "own", "executors": 5, "service": {"mean": "15ms"}}
    made = scenario(
        200,
        operator=keyed,
        latency="1s",
        keys={"zipf": 1.0, "keys": 500},
        rotate_every="90s",
        rotate_by=11,
    )
    result, turns = run(made)
    assert any(decision.kind == "move" for decision in acts(turns))
    assert result.success_rate > 0.95


def test_a_slow_executor_is_replaced():
    slow = [{"operator": "work", "executor": 1, "speed": 0.3, "since": "3m"}]
    _, turns = run(scenario(120, operator={"executors": 4}, cluster={"slow": slow}))
    replaced = [decision for decision in acts(turns) if decision.kind == "scale" and decision.leaving == (1,)]
    assert len(replaced) == 1
    assert "times as long on executor 1" in replaced[0].reason


def slow_for_long(**operator):
    """An executor is slow for two minutes, another one takes more than one to start, and there is room for no more."""
    slow = [{"operator": "work", "executor": 0, "speed": 0.3, "since": "5m", "until": "7m"}]
    made = scenario(200, operator={"executors": 7, **operator}, cluster={"start": "70s", "slow": slow}, total=7)
    result, turns = run(made)
    return result, [each for each in acts(turns) if isinstance(each, Regroup)]


def test_rows_are_spread_over_more_tasks_while_batches_wait_for_a_slow_executor():
    result, regrouped = slow_for_long()
    assert [each.grouping for each in regrouped] == ["load-aware", "round-robin"]
    assert result.success_rate > slow_for_long(grouping="random")[0].success_rate


def test_a_grouping_that_somebody_has_chosen_stays():
    assert slow_for_long(grouping="load-aware")[1] == []
    assert slow_for_long(grouping="random")[1] == []


def test_peaks_that_recur_are_expected():
    load = {"shape": "step", "steps": [[0, 50], ["80s", 300], ["2m", 50]], "repeat": "3m"}
    _, turns = run(scenario(load, duration="15m"))
    last_peak_s = 12 * 60 + 80.0
    before = next(turn for turn in turns if turn.time_s == last_peak_s - 2)
    assert before.plan.total >= 8
    assert before.measures.external_rate < 100


@pytest.mark.parametrize(("calm_s", "leave"), [(140, True), (35, False)])
def test_after_a_peak_that_recurs_executors_leave_soon_unless_the_next_one_is_near(calm_s, leave):
    """Near: sooner than executors that leave now could be back, and than they are kept anyway."""
    period_s = calm_s + 40
    load = {"shape": "step", "steps": [[0, 50], [f"{calm_s}s", 300], [f"{period_s}s", 50]], "repeat": f"{period_s}s"}
    _, turns = run(scenario(load, duration=f"{7 * period_s}s"))
    end_s = 6.0 * period_s
    after = [turn.plan.total for turn in turns if end_s + 20 <= turn.time_s <= end_s + 28]
    assert (max(after) <= 4) == leave
    assert leave or min(after) >= 8


def test_every_reason_has_what_was_measured_and_what_is_done():
    _, turns = run(scenario({"shape": "step", "steps": [[0, 60], ["3m", 240]]}, duration="5m"))
    for decision in acts(turns):
        assert "records/s are work for" in decision.reason
        assert "scale" in decision.reason
        assert decision.predicted is not None


def test_a_pool_gives_back_what_another_needs_more_when_the_budget_is_spent():
    """First the records of one operator cost much, then those of the other: there is room for one of them."""
    steps = {"work": [[0, 1], ["4m", 4]], "store": [[0, 1], ["1m", 4], ["4m", 1]]}
    costs = {name: {"shape": "step", "steps": each} for name, each in steps.items()}
    store = {"name": "store", "inputs": ["work"], "cost": costs["store"]}
    result, turns = run(scenario(60, total=11, operator={"cost": costs["work"]}, others=[store], latency="8s"))
    late = [turn.plan.pools for turn in turns if turn.time_s > 260]
    assert all(pools["work"].size > 5 > pools["store"].size for pools in late)
    assert any("another pool needs more executors" in act.reason for act in acts(turns))
    assert len(acts(turns)) <= 12
    assert result.success_rate > 0.75


def test_pools_do_not_exchange_executors_for_a_little():
    """Two equal operators under a budget that is too small for both, and odd."""
    result, turns = run(scenario(100, total=7, others=[{"name": "store", "inputs": ["work"]}], latency="3s"))
    assert result.success_rate < 0.5
    assert len(acts(turns)) <= 4


class Latencies:
    """In place of a cost: what uneven and even substreams bring at the present rate of 100, and at any higher one."""

    def __init__(self, present, higher):
        self.present, self.higher = present, higher

    def latency_s(self, rate, size, *, as_it_is=False):
        uneven_s, even_s = self.present if rate == 100.0 else self.higher
        return uneven_s if as_it_is else even_s


@pytest.mark.parametrize(
    ("present", "higher", "rate"),
    [
        pytest.param((6.0, 3.0), (math.inf, 9.0), 100.0, id="late-now"),
        pytest.param((math.inf, math.inf), (math.inf, math.inf), 100.0, id="overloaded-now"),
        pytest.param((2.0, 1.8), (8.0, 3.0), 150.0, id="late-after-a-rise"),
        pytest.param((2.0, 1.8), (8.0, 7.0), None, id="hardly-better-after-a-rise"),
        pytest.param((2.0, 1.8), (math.inf, math.inf), None, id="overloaded-after-a-rise-anyway"),
        pytest.param((2.0, 1.0), (4.0, 1.5), None, id="never-late"),
    ],
)
def test_substreams_are_spread_for_the_present_rate_or_for_half_as_much_more(present, higher, rate):
    assert Rheostat._rate_to_move_for(Latencies(present, higher), 100.0, 4, 4.25) == rate
