"""Options of PA-SPS and PSPS. The defaults are the paper's (section 4.1.4), where all replicas are warm."""

from typing import Annotated, Literal

import msgspec

from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.errors import ConfigError
from rheostat.forecast import make_model
from rheostat.policies.policy import PolicyOptions
from rheostat.policies.regroup import GroupingOption

Meta = msgspec.Meta
AUTO = "auto"


class PspsOptions(PolicyOptions, frozen=True, kw_only=True):
    """PSPS's, and those that PA-SPS shares with it.

    Inactive replicas are the plan's standbys: they become active without a start. The paper's grouping is
    "load-aware".
    """

    td: Annotated[Duration, Meta(description="td, the time between two decisions, and how far ahead to forecast")] = (
        "30s"
    )
    sample: Annotated[Duration, Meta(description="how long the input is counted for one sample")] = "1s"
    window: Annotated[
        int, Meta(ge=2, description="samples that a forecast is made from; no less than those of one td")
    ] = 100
    pool: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="replicas in the pool of each operator, all of them started: what is not active is kept warm; "
            "left out: as many as the budget allows, and as many warm ones as at the start"
        ),
    ] = None
    headroom: Annotated[
        float,
        Meta(ge=0, le=10, description="share of replicas on top of the model's; PA-SPS has 0, and runs close to full"),
    ] = 0.0
    execution_time: Annotated[
        dict[str, Duration],
        Meta(description="et of operators by name, as calibrated before the start; afterwards it is measured"),
    ] = {}
    grouping: GroupingOption = "keep"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ConfigError(f"td {human(self.td_s)} must be at least one sample of {human(self.sample_s)}")
        for operator, time in self.execution_time.items():
            positive_seconds(time, f"execution_time of {operator!r}")

    @property
    def td_s(self) -> float:
        return positive_seconds(self.td, "td")

    @property
    def sample_s(self) -> float:
        return positive_seconds(self.sample, "sample")

    @property
    def steps(self) -> int:
        """td in samples."""
        return round(self.td_s / self.sample_s)

    @property
    def samples(self) -> int:
        """How many to look back: all of a td that is longer than the window, or Basic would repeat its end only."""
        return max(self.window, self.steps)


class PaSpsOptions(PspsOptions, frozen=True, kw_only=True):
    """PA-SPS's."""

    predictor: Annotated[
        str,
        Meta(
            description="forecasting model: ann, linear, fft, forest, basic (PA-SPS), "
            "select (for a load that recurs, with a window of more than two recurrences), or another one"
        ),
    ] = "ann"
    lead: Annotated[
        Duration,
        Meta(
            description="how much further than td to forecast, for the busiest td: replicas are ready before a peak. "
            '"auto": as long as executors take to start, which is nothing for warm ones'
        ),
    ] = AUTO
    plan_for: Annotated[
        Literal["mean", "high"],
        Meta(description='which input to plan for: the one expected ("mean"), or one that is seldom exceeded ("high")'),
    ] = "mean"
    level: Annotated[
        float, Meta(gt=0, lt=1, description='the probability behind "high": of a value between low and high')
    ] = 0.8
    seed: Annotated[int, Meta(ge=0, description="seed of the predictors that draw")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.lead_s
        make_model(self.predictor, self.seed)

    @property
    def lead_s(self) -> float | None:
        """None when it is to be measured."""
        return None if self.lead == AUTO else seconds(self.lead, "lead")
