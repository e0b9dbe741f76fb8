"""Policy choice: the policies of a comparison, and the options that each has by default."""

from typing import Any

from rheostat.errors import ConfigError, RheostatError
from rheostat.experiments.comparison.near_names import near_names
from rheostat.experiments.learned_table import learned_table
from rheostat.experiments.scenario import Scenario
from rheostat.policies.qlearning.policy import QLearning
from rheostat.policies.registry import make_policy, policies
from rheostat.sla import Goal

ALL = "all"

_MOST_LEARNED = 50
"""Executors of one operator, beyond which nothing is learned, unless the budget is smaller."""


def choose_policies(text: str) -> tuple[str, ...]:
    """The names in a list such as "drs,static"; "all" stands for all that are registered, in their order."""
    known = list(policies())
    chosen: dict[str, None] = {}
    for name in filter(None, map(str.strip, text.split(","))):
        if name != ALL and name not in known:
            raise ConfigError(f"policy {name!r} is unknown: {near_names(name, {each: each for each in [*known, ALL]})}")
        chosen |= dict.fromkeys(known if name == ALL else [name])
    if not chosen:
        raise ConfigError(f"--policies {text!r} names no policy: give names with commas between them, or {ALL}")
    return tuple(chosen)


def with_training(scenario: Scenario, policy: str, options: dict[str, Any]) -> dict[str, Any]:
    """`options`, with a table trained on the scenario's own load for `q-learning`, which needs one."""
    if policy != QLearning.name or "table" in options:
        return options
    most = min(_MOST_LEARNED, scenario.largest_budget.total or _MOST_LEARNED)
    return {"table": learned_table(scenario, most), **options}


def is_usable(goal: Goal, policy: str, options: dict[str, Any]) -> bool:
    """Whether a policy takes these options for a goal. Training changes nothing about that."""
    try:
        make_policy(policy, goal, {"table": {}, **options} if policy == QLearning.name else options)
    except RheostatError:
        return False
    return True
