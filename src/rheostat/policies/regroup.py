"""To have records spread in one way, wherever they may go anywhere."""

from typing import Annotated, Literal

import msgspec

from rheostat.decision import Decision, Regroup
from rheostat.policies.policy import Observation
from rheostat.topology import Topology

Wanted = Annotated[
    Literal["osg", "load-aware", "round-robin", "batch-greedy", "keep"],
    msgspec.Meta(
        description="how records are spread where that is free: osg, load-aware, round-robin, or batch-greedy where "
        "there are micro-batches; keep leaves it"
    ),
]
"""An option of policies."""


def regroups(topology: Topology, observation: Observation, wanted: Wanted) -> list[Decision]:
    """For the operators that are not yet told to have their records spread as `wanted`.

    One of which a plant does not say how its records are spread has no choice.
    """
    if wanted == "keep":
        return []
    free = [
        operator.name for operator in topology.operators.values() if not operator.keyed or operator.merge is not None
    ]
    now = {state.name: state.grouping for state in observation.snapshot.operators}
    return [
        Regroup(operator=name, grouping=wanted, reason=f"records are spread by {now[name]}")
        for name in free
        if now.get(name) not in (None, wanted) and observation.plan.grouping.get(name) != wanted
    ]
