"""Executors that have failed (StreamSwitch 5, onExecutorFailed).

A failed executor keeps its number and its substreams in the plan, which the plant gives to the one that takes its
place: no substream is ever on two executors.
"""

from rheostat.decision import Decision
from rheostat.policies.observation import PoolView
from rheostat.snapshot import ExecutorPhase


def failed(pool: PoolView) -> list[int]:
    """The executors of `pool` that are wanted but have failed."""
    wanted = pool.plan.executors
    return [each.id for each in pool.executors if each.phase is ExecutorPhase.FAILED and each.id in wanted]


def replacement(pool: PoolView) -> Decision | None:
    """New executors for those that have failed and did not come back for as long as the loop is patient."""
    gone = tuple(failed(pool))
    if not gone:
        return None
    reason = f"executor {', '.join(map(str, gone))} has failed and does not come back: a new one takes its place"
    return pool.scale(pool.size, reason, leaving=gone)
