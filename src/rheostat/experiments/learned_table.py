"""Learned table: what `q-learning` learns from a scenario's own stream, a favourable condition, as in DABS-Storm."""

from typing import Any

import msgspec
import numpy as np

from rheostat.experiments.needed_executors import operator_rates
from rheostat.experiments.scenario import Scenario
from rheostat.policies.qlearning.train import Lesson, train

MOST_LEARNED = 12
"""Executors of one operator, beyond which nothing is learned, in the experiments of DABS-Storm."""


def learned_table(scenario: Scenario, most: int = MOST_LEARNED, levels: int = 24) -> dict[str, Any]:
    """The option `table` of `q-learning`, trained on the load of the whole run for up to `most` executors; it tells
    `levels` of the rate apart."""
    model, period_s = scenario.model, scenario.loop.period_s
    times_s = np.arange(period_s / 2, scenario.duration_s, period_s)
    rates = {name: np.zeros_like(times_s) for name in model.topology.operators}
    for source in model.topology.sources:
        visits = operator_rates(model, {other: float(other == source) for other in model.topology.sources})
        entering = model.source(source).load.rates(times_s)
        rates = {name: before + visits[name] * entering for name, before in rates.items()}
    table = {
        name: train(arriving.tolist(), 1 / model.operator(name).service.mean_s, Lesson(most=most, levels=levels))
        for name, arriving in rates.items()
    }
    built: dict[str, Any] = msgspec.to_builtins(table)
    return built
