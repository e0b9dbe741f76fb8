"""Check of a grouping: records of one key may be split only if an operator merges the partial results."""

from rheostat.errors import ConfigError, nearest
from rheostat.topology import Topology

ROUND_ROBIN, RANDOM, KEY, LOAD_AWARE, OSG, BATCH_GREEDY, NEAREST = (
    "round-robin",
    "random",
    "key",
    "load-aware",
    "osg",
    "batch-greedy",
    "nearest",
)
NAMES = (ROUND_ROBIN, RANDOM, KEY, LOAD_AWARE, OSG, BATCH_GREEDY, NEAREST)
"""The names of the groupings in plans and scenarios."""


def check(topology: Topology, operator: str, grouping: str) -> None:
    """Refuse, with the reason, an unknown grouping or one that would break the results of `operator`."""
    if grouping not in NAMES:
        raise ConfigError(f"operator {operator!r}: no grouping is called {grouping!r}; {nearest(grouping, NAMES)}")
    it = topology.operators[operator]
    if it.keyed and it.merge is None and grouping != KEY:
        raise ConfigError(
            f"operator {operator!r} is keyed by {it.key!r} and nothing merges behind it, so {grouping!r} would split "
            f"its results: use {KEY!r}, or name the operator that merges them (merge)"
        )
