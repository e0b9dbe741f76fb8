"""Regrouping: the option that sets how records are spread over executors, and the decisions that follow from it."""

from typing import Annotated, Literal

import msgspec

from rheostat.decision import Decision, Regroup
from rheostat.policies.observation import Observation

GroupingOption = Annotated[
    Literal["osg", "load-aware", "round-robin", "batch-greedy", "keep"],
    msgspec.Meta(
        description='How records are spread over the executors of operators without a key: "round-robin" (in '
        'turns), "load-aware" (to the executor that was least busy), "osg" (to the one with the least work, by '
        'what records of each value cost), "batch-greedy" (the same for whole micro-batches), or "keep" (as it '
        'is). Use "osg" or "batch-greedy" if records differ much in cost.'
    ),
]
"""An option of policies."""


def regroups(observation: Observation, wanted: GroupingOption) -> list[Decision]:
    """For the operators whose records can be spread as `wanted` and are not, neither now nor by the plan."""
    return [
        Regroup(
            operator=state.name,
            grouping=wanted,
            reason=f"records are spread by {state.grouping}, {wanted} is configured: regroup",
        )
        for state in observation.snapshot.operator_states
        if observation.capabilities.can_group(state.name, wanted) and state.grouping != wanted
        if observation.plan.grouping.get(state.name) != wanted
    ]
