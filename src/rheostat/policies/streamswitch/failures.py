"""Executors that have failed (StreamSwitch 5, onExecutorFailed).

A failed executor keeps its number and its substreams in the plan, which the plant gives to the one that takes its
place: no substream is ever on two executors.
"""

from rheostat.decision import Effect, Scale
from rheostat.policies.policy import Observation
from rheostat.snapshot import ExecutorPhase


def failed(observation: Observation, pool: str) -> list[int]:
    """The executors of `pool` that are wanted but have failed."""
    wanted = observation.plan.pools[pool].executors
    states = observation.snapshot.executors_of(pool)
    return [each.id for each in states if each.phase is ExecutorPhase.FAILED and each.id in wanted]


def replacement(observation: Observation, pool: str, operator: str) -> Scale | None:
    """New executors for those that have failed and did not come back for as long as the loop is patient."""
    gone = failed(observation, pool)
    if not gone:
        return None
    size = observation.plan.size(operator)
    return Scale(
        operator=operator,
        executors=size,
        leaving=tuple(gone),
        reason=f"executor {', '.join(map(str, gone))} has failed and does not come back: a new one takes its place",
        predicted=Effect(executors=size),
    )
