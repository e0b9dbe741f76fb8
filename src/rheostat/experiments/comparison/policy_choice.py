"""Policy choice: the policies of a comparison, and the options that each has by default."""

from typing import Any

from rheostat.errors import ConfigError
from rheostat.experiments.comparison.near_names import near_names
from rheostat.experiments.learned_table import learned_table
from rheostat.experiments.scenario import Scenario
from rheostat.policies.qlearning.policy import QLearning
from rheostat.policies.registry import policies

ALL = "all"


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
    return {"table": learned_table(scenario), **options}
