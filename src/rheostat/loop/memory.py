"""A policy's memory, rebuilt by showing it again what was recorded. What it decides meanwhile is not acted on."""

from collections.abc import Iterable, Sequence

from rheostat.decision import Decision
from rheostat.journal.records import Recorded
from rheostat.measure.rates import Measurer
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy


def remember(policy: Policy, measurer: Measurer, recorded: Iterable[Recorded]) -> None:
    """Show all of `recorded`, in order. A policy that fails on one of them is shown the next, as it was in life."""
    for each in recorded:
        try:
            show(policy, measurer, each)
        except Exception:  # it was reported when it happened first
            continue


def show(policy: Policy, measurer: Measurer, recorded: Recorded) -> Sequence[Decision]:
    """What `policy` decides about one recorded observation."""
    measures = measurer.update(recorded.snapshot, recorded.plan)
    return policy.decide(
        Observation(
            recorded.snapshot,
            measures,
            recorded.plan,
            recorded.settling,
            policy.goal.budget,
            recorded.capabilities,
        )
    )
