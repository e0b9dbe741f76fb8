"""Strategies: the compared strategies as policies with options."""

from dataclasses import dataclass
from typing import Any

from rheostat.experiments.learned_table import learned_table
from rheostat.experiments.scenario import Scenario

AUTOSCALE, CAUTIOUS, INCREMENTAL, LEARNED, STATIC, SHUFFLED = (
    "AUTOSCALE+, β 0.8",
    "AUTOSCALE+, β 0.2",
    "incremental",
    "reinforcement learning",
    "static",
    "AUTOSCALE+, β 0.8, round robin",
)


ALPHA = 0.6
"""The α of eq. 12 and 13, in ]0, 1]; the paper does not state it."""

_THRESHOLDS = ((0.8, 0.4), (0.7, 0.2), (0.5, 0.1))
_LEVELS = (2, 8, 24)

FOLLOWING = f"{LEARNED}, {_LEVELS[-1]} levels"
"""Always shown as well: it follows the rate, as the paper describes it."""

USUAL = f"{INCREMENTAL}, {_THRESHOLDS[0][1]:.0%} to {_THRESHOLDS[0][0]:.0%}"
"""Always shown as well: it does not over-provision."""


@dataclass(frozen=True)
class Setup:
    """A policy with options; `name` tells the settings of a strategy apart."""

    policy: str
    options: dict[str, Any]
    name: str = ""


def strategies(scenario: Scenario) -> dict[str, tuple[Setup, ...]]:
    """The settings of each strategy, by its name in the tables. Of the rivals the one that loses least is shown.

    The fewer levels of the rate reinforcement learning tells apart, the less often it changes the degree.
    """
    shuffled = {SHUFFLED: (Setup("dabs", {"beta": 0.8, "alpha": ALPHA, "grouping": "round-robin"}),)}
    return {
        AUTOSCALE: (Setup("dabs", {"beta": 0.8, "alpha": ALPHA, "grouping": "keep"}),),
        CAUTIOUS: (Setup("dabs", {"beta": 0.2, "alpha": ALPHA, "grouping": "keep"}),),
        INCREMENTAL: tuple(
            Setup("threshold", {"high": high, "low": low}, f"{low:.0%} to {high:.0%}") for high, low in _THRESHOLDS
        ),
        LEARNED: tuple(
            Setup("q-learning", {"table": learned_table(scenario, levels=levels)}, f"{levels} levels")
            for levels in _LEVELS
        ),
        STATIC: (Setup("static", {}),),
    } | (shuffled if _uses_osg(scenario) else {})


def _uses_osg(scenario: Scenario) -> bool:
    return any(scenario.model.operator(name).grouping == "osg" for name in scenario.model.topology.operators)
