"""Strategies: the compared strategies as policies with options."""

from typing import Any

from rheostat.experiments.learned_table import learned_table
from rheostat.experiments.scenario import Scenario

AUTOSCALE, CAUTIOUS, INCREMENTAL, LEARNED, STATIC = (
    "AUTOSCALE+, β 0.8",
    "AUTOSCALE+, β 0.2",
    "incremental",
    "reinforcement learning",
    "static",
)


def strategies(scenario: Scenario) -> dict[str, tuple[str, dict[str, Any]]]:
    """Policy and options of each strategy, by its name in the tables."""
    return {
        AUTOSCALE: ("dabs", {"beta": 0.8, "grouping": "keep"}),
        CAUTIOUS: ("dabs", {"beta": 0.2, "grouping": "keep"}),
        INCREMENTAL: ("threshold", {}),
        LEARNED: ("q-learning", {"table": learned_table(scenario)}),
        STATIC: ("static", {}),
    }
