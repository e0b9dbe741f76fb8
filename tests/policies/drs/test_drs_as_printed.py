"""Where DRS's schedulers fail as they are printed, or as they could be read. (Algorithms: tests/queueing.)"""

import math

import pytest
from drs_observations import AS_PRINTED, chain, decide, goal, policy_for, scaled, sizes

from rheostat.errors import InfeasibleError
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.queueing import Network, min_processors, mmk
from rheostat.snapshot import ExecutorPhase, ExecutorState, OperatorState, Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

AB = chain("a", "b")
RATES = {"a": (10.0, 4.0), "b": (10.0, 6.0)}
NETWORK = Network.of(10.0, a=mmk(10, 4), b=mmk(10, 6))


def printed_spending(k_max):
    """Algorithm 1's loop: while Σ k ≤ K_max, add one."""
    models = [station.model for station in NETWORK.stations]
    k = [int(model.fewest()) for model in models]
    while sum(k) <= k_max:
        gains = [m.arrival_rate * (m.sojourn_s(n) - m.sojourn_s(n + 1)) for m, n in zip(models, k, strict=True)]
        k[gains.index(max(gains))] += 1
    return tuple(k)


def test_k_max_is_spent_and_not_exceeded():
    assert sum(printed_spending(9)) == 10
    assert sum(sizes(decide(goal(AB, total=9), RATES, {"a": 4, "b": 4}))) == 9


def test_a_filter_can_be_met_though_the_plain_sum_of_service_times_exceeds_t_max():
    """The printed bound Σ 1/μi counts an operator that one record in ten visits like one that all visit."""
    rates = {"a": (10.0, 20.0), "b": (1.0, 0.5)}
    network = Network.of(10.0, a=mmk(10, 20), b=mmk(1, 0.5))
    measured_s = network.expected_latency_s((1, 3))
    assert sum(1 / service_rate for _, service_rate in rates.values()) > measured_s > 0.3
    decisions = decide(goal(AB, latency="300ms"), rates, {"a": 1, "b": 3}, latency_s=measured_s)
    assert sizes(decisions) == min_processors(network, 0.3).executors
    assert scaled(decisions)


def test_a_t_max_that_a_loop_cannot_meet_is_not_chased_for_ever():
    """The printed bound holds for one visit; with five of them Algorithm 2 would add executors without end."""
    topology = Topology("loop", [Source("in"), Operator("a", inputs=["in", "a"], selectivity=0.8)])
    with pytest.raises(InfeasibleError):
        min_processors(Network.of(10.0, a=mmk(50, 20)), 0.2)
    wanted, options = goal(topology, latency="200ms", total=10), {"correction": "none"}
    [a] = decide(wanted, {"a": (50.0, 20.0)}, {"a": 3}, latency_s=0.4, external_rate=10.0, options=options)
    assert a.executors == 10
    assert "no allowed number is predicted to keep 200ms" in a.reason


def printed_removal(t_min_s, running):
    """(ii) of section IV-B read by its trigger alone: remove until the estimate is no longer below T_min."""
    running = list(running)
    while NETWORK.expected_latency_s(running) < t_min_s:
        fewer = [[k - (i == j) for j, k in enumerate(running)] for i in range(len(running)) if running[i] > 1]
        running = min(fewer, key=NETWORK.expected_latency_s)
    return running


def test_executors_are_removed_only_as_far_as_t_max_allows():
    t_max_s, t_min_s = 0.55, 0.54
    running = (4, 3)
    latency_s = NETWORK.expected_latency_s(running)
    assert latency_s < t_min_s
    assert NETWORK.expected_latency_s(printed_removal(t_min_s, running)) > t_max_s
    options = {"t_min": t_min_s}
    decisions = decide(goal(AB, latency=t_max_s), RATES, {"a": 4, "b": 3}, latency_s=latency_s, options=options)
    assert not scaled(decisions)
    assert "fewer executors would exceed 550ms" in decisions[0].reason


def test_the_model_is_corrected_where_branches_run_in_parallel():
    """Eq. 4 adds up five branches that in truth run side by side: uncorrected, T_max looks out of reach."""
    branches = [Operator(f"b{n}", inputs="a") for n in range(5)]
    topology = Topology("fan", [Source("in"), Operator("a", inputs="in"), *branches])
    rates = dict.fromkeys(topology.operators, (10.0, 12.0))
    network = Network.of(10.0, **{name: mmk(10, 12) for name in rates})
    wanted, plan = goal(topology, latency="250ms", total=60), dict.fromkeys(rates, 1)
    estimate_s, measured_s = network.expected_latency_s([1] * 6), 2 * mmk(10, 12).sojourn_s(1)
    assert network.floor_s() > 0.25
    printed = decide(wanted, rates, plan, latency_s=measured_s, options={"correction": "none"})
    corrected = decide(wanted, rates, plan, latency_s=measured_s)
    assert sum(sizes(printed)) == 60
    assert sizes(corrected) == min_processors(network, 0.25 * estimate_s / measured_s).executors
    assert sum(sizes(corrected)) == 12


def test_without_a_measurement_or_with_an_infinite_estimate_the_model_stands_as_it_is():
    overloaded = decide(goal(AB, latency="2s"), RATES, {"a": 2, "b": 2}, latency_s=100.0)
    assert sizes(overloaded) == min_processors(NETWORK, 2.0).executors
    unmeasured = decide(goal(AB, latency="2s"), RATES, {"a": 2, "b": 2}, latency_s=None)
    assert sizes(unmeasured) == min_processors(NETWORK, 2.0).executors


def uneven_executors(time_s):
    """One executor that serves 10/s and one that serves 30/s, both busy all the time."""
    slow = ExecutorState("a", 0, ExecutorPhase.ACTIVE, int(20 * time_s), int(10 * time_s), busy_s=time_s)
    fast = ExecutorState("a", 1, ExecutorPhase.ACTIVE, int(20 * time_s), int(30 * time_s), busy_s=time_s)
    operator = OperatorState("a", int(42 * time_s), int(40 * time_s), 0, int(2 * time_s), 2 * time_s)
    return Snapshot(time_s, (operator,), (slow, fast), streams=(StreamState("in", "a", int(42 * time_s)),))


def test_executors_of_different_speeds_serve_at_the_plain_mean_of_their_rates():
    """Weighted by records, fast executors count twice: 25/s each, and 42/s would seem to fit on two."""
    topology = chain("a")
    plan = Plan.initial(topology, 2)
    measurer = Measurer(topology)
    policy = policy_for(goal(topology, latency="2s"))
    weighted = (10 * 10 + 30 * 30) / 40
    assert math.isfinite(mmk(42, weighted).sojourn_s(2))
    for time_s in (0.0, 10.0):
        snapshot = uneven_executors(time_s)
        measures = measurer.update(snapshot, plan)
        decisions = policy.decide(Observation(snapshot, measures, plan, budget=policy.goal.budget))
    assert measures.operators["a"].service_rate == pytest.approx(20.0)
    assert scaled(decisions)["a"] >= 3
    assert "expected latency unbounded > SLA 2s" in decisions[0].reason


def test_an_operator_without_arrivals_needs_one_executor_and_adds_no_delay():
    rates = {"a": (10.0, 4.0), "b": (0.0, 6.0)}
    decisions = decide(goal(AB, total=9), rates, {"a": 4, "b": 5})
    assert sizes(decisions) == (8, 1)


def test_the_papers_settings_can_be_told():
    assert AS_PRINTED.keys() <= set(policy_for(goal(AB, total=4)).Options.__struct_fields__)
