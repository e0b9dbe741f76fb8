"""Simulated run: one run of a policy on the simulator, with the figures of a comparison."""

from collections.abc import Mapping
from typing import Any

import msgspec

from rheostat.experiments.comparison.action_counts import ActionCounter, longest_out_of_sla_s
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate
from rheostat.policies.policy import Policy

SIM = "sim"


def run_on_simulator(
    scenario: Scenario, policy: str | type[Policy], options: Mapping[str, Any], *, setting: str, seed: int
) -> ComparedRun:
    """The figures of one run, with a point of the time series for each turn."""
    counter = ActionCounter()
    result = simulate(scenario, policy, options, seed=seed, listeners=[counter], series=True)
    points = () if result.series is msgspec.UNSET else result.series
    return ComparedRun(
        scenario=scenario.name,
        policy=result.policy,
        setting=setting,
        plant=SIM,
        seed=seed,
        duration_s=result.duration_s,
        success_rate=result.success_rate,
        mean_executors=result.mean_executors,
        executor_seconds=result.executor_seconds,
        mean_latency_s=result.mean_latency_s,
        p99_latency_s=result.p99_latency_s,
        out_of_sla_s=longest_out_of_sla_s(points),
        late=result.late,
        lost=result.lost,
        saved_resources=result.saved_resources,
        throughput_degradation=result.throughput_degradation,
        series=points,
        **msgspec.structs.asdict(counter.counts(points)),
    )
