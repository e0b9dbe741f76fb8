"""Strategies: the compared strategies as policies with options."""

from typing import Any

import msgspec
import numpy as np

from rheostat.experiments.scenario import Scenario
from rheostat.policies.qlearning.train import Lesson, train

AUTOSCALE, CAUTIOUS, INCREMENTAL, LEARNED, STATIC = (
    "AUTOSCALE+, β 0.8",
    "AUTOSCALE+, β 0.2",
    "incremental",
    "reinforcement learning",
    "static",
)
_MAX_EXECUTORS = 12
"""Upper limit for the executors of one operator in reinforcement learning."""


def strategies(scenario: Scenario) -> dict[str, tuple[str, dict[str, Any]]]:
    """Policy and options of each strategy, by its name in the tables."""
    return {
        AUTOSCALE: ("dabs", {"beta": 0.8, "grouping": "keep"}),
        CAUTIOUS: ("dabs", {"beta": 0.2, "grouping": "keep"}),
        INCREMENTAL: ("threshold", {}),
        LEARNED: ("q-learning", {"table": learned(scenario)}),
        STATIC: ("static", {}),
    }


def learned(scenario: Scenario) -> dict[str, Any]:
    """What reinforcement learning learns from the scenario's own stream; a favourable condition, as in the paper."""
    model, period_s = scenario.model, scenario.loop.period_s
    times_s = np.arange(period_s / 2, scenario.duration_s, period_s)
    entering = np.sum([model.source(name).load.rates(times_s) for name in model.topology.sources], axis=0)
    table = {
        name: train((visits * entering).tolist(), 1 / model.operator(name).service.mean_s, Lesson(most=_MAX_EXECUTORS))
        for name, visits in _visits(scenario).items()
    }
    built: dict[str, Any] = msgspec.to_builtins(table)
    return built


def _visits(scenario: Scenario) -> dict[str, float]:
    """Records at each operator per record that enters, by the traffic equations."""
    topology = scenario.model.topology
    position = {name: index for index, name in enumerate(topology.operators)}
    external = np.zeros(len(position))
    for stream in topology.streams:
        if stream.producer in topology.sources:
            external[position[stream.consumer]] += 1.0
    rates = np.linalg.solve(np.eye(len(position)) - topology.routing.T, external)
    return {name: float(rates[index]) for name, index in position.items()}
