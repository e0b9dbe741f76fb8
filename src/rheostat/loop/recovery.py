"""Recovery: a policy gets its state back by deciding again on recorded observations. Nothing of it is carried out."""

from collections.abc import Iterable, Sequence

import msgspec

from rheostat.decision import Decision
from rheostat.journal.records import RecordedObservation
from rheostat.measure.measurer import Measurer
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy


def recover_state(policy: Policy, measurer: Measurer, recorded: Iterable[RecordedObservation]) -> None:
    """Have `policy` decide on all of `recorded`, in order. An error is ignored: it was reported at the time."""
    for each in recorded:
        try:
            decide_again(policy, measurer, each)
        except Exception:
            continue


def show_again(policy: Policy, observations: Iterable[Observation]) -> None:
    """Have `policy` decide on what another one was shown, within its own budget. Errors are ignored as above."""
    for each in observations:
        try:
            policy.decide(msgspec.structs.replace(each, budget=policy.goal.budget))
        except Exception:
            continue


def decide_again(policy: Policy, measurer: Measurer, recorded: RecordedObservation) -> Sequence[Decision]:
    """What `policy` decides on one recorded observation."""
    measures = measurer.update(recorded.snapshot, recorded.plan)
    observation = Observation(
        recorded.snapshot,
        measures,
        recorded.plan,
        recorded.settling,
        policy.goal.budget,
        recorded.capabilities,
    )
    return policy.decide(observation)
