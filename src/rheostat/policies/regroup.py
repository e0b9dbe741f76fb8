"""Regrouping: the option that sets how records are spread over executors, and the decisions that follow from it."""

from typing import Annotated, Literal

import msgspec

from rheostat.decision import Decision, Regroup
from rheostat.policies.observation import Observation

GroupingOption = Annotated[
    Literal["osg", "load-aware", "round-robin", "batch-greedy", "keep"],
    msgspec.Meta(
        description="how records are spread where that is free: osg, load-aware, round-robin, or batch-greedy where "
        "there are micro-batches; keep leaves it"
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
