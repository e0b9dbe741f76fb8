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
    """Options of DABS-Storm. The paper gives neither Δ nor the reservations."""

    sample: Annotated[Duration, Meta(description="from one sample of the counters to the next")] = "10s"
    iteration: Annotated[
        Duration, Meta(description="Δ: how far regressions look back, and how far ahead; a multiple of sample")
    ] = "60s"
    weight: Annotated[Share, Meta(description="λ: how much of the used or reserved processor is counted on")] = 0.3
    beta: Annotated[
        Share, Meta(description="β: scale in when the ideal degree is below this share of the present one")
    ] = 0.8
    combine: Annotated[
        Literal["max", "min"],
        Meta(
            description='what counts of an operator\'s own trend and its parents\' outputs: "max" (cautious) or "min"'
        ),
    ] = "max"
    reservation: Annotated[
        Share | dict[str, Share], Meta(description="share of a core reserved for an executor, or by operator")
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
