"""Options of DABS-Storm (table 2), with those that the paper leaves open."""

from typing import Annotated, Literal

import msgspec

from rheostat.duration import Duration, positive_seconds
from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.policies.policy import PolicyOptions
from rheostat.policies.regroup import GroupingOption

Meta = msgspec.Meta
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


class DabsOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of DABS-Storm. The paper gives neither Δ nor the reservations nor α.

    Equations 12 and 13 print λ where the text names α in ]0, 1]. With λ = 0.3 in its place a new size would at once be
    too large for the working interval.
    """

    sample: Annotated[
        Duration,
        Meta(
            description="Time from one reading of the counters to the next, as a duration. Shorten it to see a "
            "rising load earlier, lengthen it if readings are noisy."
        ),
    ] = "10s"
    iteration: Annotated[
        Duration,
        Meta(
            description="Time that trends of the load are fitted to, and how far ahead they are continued, as a "
            "duration: a multiple of `sample`, three times or more. Set it to about the time until a change of size "
            "takes effect."
        ),
    ] = "60s"
    weight: Annotated[
        Share,
        Meta(
            description="Share, above 0 and up to 1, of the processor time used by an executor or reserved for it "
            "that is counted on for the coming load. Lower it if executors turn out slower than planned."
        ),
    ] = 0.3
    alpha: Annotated[
        Share,
        Meta(
            description="Share, above 0 and up to 1, of the reserved processor time of an executor that a new size is "
            "planned with. Raise it to use fewer executors, lower it for more reserve."
        ),
    ] = 0.6
    beta: Annotated[
        Share,
        Meta(
            description="Share of the present executors, above 0 and up to 1: fewer are used once fewer than that "
            "are needed. Lower it if executors are removed and soon needed again."
        ),
    ] = 0.8
    combine: Annotated[
        Literal["max", "min"],
        Meta(
            description="Which estimate of the coming load counts, that of the operator itself or that of the "
            'operators before it: "max" (the higher, cautious) or "min". Choose "min" if too many executors are used.'
        ),
    ] = "max"
    reservation: Annotated[
        Share | dict[str, Share],
        Meta(
            description="Share of a core that one executor is guaranteed, above 0 and up to 1, or by operator "
            '({"split": 0.5}). Set it if executors share cores with other programs.'
        ),
    ] = 1.0
    grouping: GroupingOption = "osg"

    def __post_init__(self) -> None:
        samples = self.iteration_s / self.sample_s
        if samples < 3 - 1e-9 or abs(samples - round(samples)) > 1e-9:
            raise ConfigError(
                f"iteration {self.iteration!r} must be a multiple of sample {self.sample!r}, three times or more: "
                "a trend needs three samples"
            )

    @property
    def sample_s(self) -> float:
        return positive_seconds(self.sample, "sample")

    @property
    def iteration_s(self) -> float:
        return positive_seconds(self.iteration, "iteration")

    @property
    def samples(self) -> int:
        """How many samples make an iteration."""
        return round(self.iteration_s / self.sample_s)

    def reserved(self, operator: OperatorName) -> float:
        """ResCPU of an executor of `operator`; a whole core by default."""
        return self.reservation.get(operator, 1.0) if isinstance(self.reservation, dict) else self.reservation
