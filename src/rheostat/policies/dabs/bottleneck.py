"""What limits an operator apart from processors: named, since AUTOSCALE+ has formulas for processors only."""

from rheostat.names import PoolName
from rheostat.snapshot import Snapshot

_FULL = 0.95


def other_bottleneck(snapshot: Snapshot, pool: PoolName) -> str | None:
    """In words, the full memory or I/O of a node on which executors of `pool` run; None if there is none."""
    nodes = {executor.node for executor in snapshot.active(pool)}
    for node in snapshot.nodes:
        for what, share in (("memory", node.memory), ("I/O", node.io)):
            if node.name in nodes and share is not None and share >= _FULL:
                return f"{what} of node {node.name!r} is at {share:.0%}"
    return None
