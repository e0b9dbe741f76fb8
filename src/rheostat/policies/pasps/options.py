"""Options of PA-SPS and PSPS. The defaults are the paper's (section 4.1.4), where all replicas are warm;
`keep` and `plan_for` hold the SLA under a load that is work for a whole number of executors."""

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

    td: Annotated[
        Duration,
        Meta(
            description="Time between two decisions, as a duration, and how far ahead the input is forecast. "
            "Shorten it to follow the load more closely, but not below the time that executors take to start."
        ),
    ] = "30s"
    sample: Annotated[
        Duration,
        Meta(
            description="Time over which arriving records are counted for one sample of the forecast, as a "
            "duration. Lengthen it if the input comes in bursts that should not be forecast."
        ),
    ] = "1s"
    window: Annotated[
        int,
        Meta(
            ge=2,
            description="Number of past samples that a forecast is made from; at least those of one `td` are used. "
            "Raise it to more than two recurrences if the load repeats itself, for example every hour.",
        ),
    ] = 100
    pool: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Number of executors of each operator that are kept started; those without work stay warm. "
            "Left out, as many as the budget allows may work, and as many stay warm as at the start. Set it if "
            "starting executors takes too long."
        ),
    ] = None
    keep: Annotated[
        Duration,
        Meta(
            description="How long fewer executors must have been enough before any is removed, as a duration; 0, as in "
            "the paper, removes them at once. Lengthen it if executors are removed and soon needed again."
        ),
    ] = "90s"
    headroom: Annotated[
        float,
        Meta(
            ge=0,
            le=10,
            description="Share of executors on top of what the forecast needs, from 0 to 10; 0.2 is 20 % more. "
            "Raise it if the backlog grows at each peak.",
        ),
    ] = 0.0
    execution_time: Annotated[
        dict[str, Duration],
        Meta(
            description='Time that one record takes, by operator ({"split": "2ms"}), for the first decision; '
            "afterwards it is measured. Set it if the run starts under full load."
        ),
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
    def keep_s(self) -> float:
        return seconds(self.keep, "keep")

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
            description='Forecasting model: "ann", "linear", "fft", "forest", "basic" (as the last interval), '
            '"select" (the best for a load that recurs), or another one. `rheostat forecast` compares them on a '
            "recorded load: change it to the one that fits yours."
        ),
    ] = "ann"
    lead: Annotated[
        Duration,
        Meta(
            description="How much further than `td` to forecast, as a duration, so that executors are ready before "
            'a peak. "auto" is as long as executors take to start, as measured. Set it if that is known better.'
        ),
    ] = AUTO
    plan_for: Annotated[
        Literal["mean", "high"],
        Meta(
            description='Which input to be ready for: "mean" (the expected one) or "high" (the upper bound of the '
            'forecast). Choose "mean", as in the paper, if spare executors cost more than a missed SLA.'
        ),
    ] = "high"
    level: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="Probability, between 0 and 1, that the input lies between the bounds of the forecast; "
            'used with `plan_for` "high". Raise it for more reserve.',
        ),
    ] = 0.8
    seed: Annotated[
        int,
        Meta(
            ge=0,
            description="Random seed of the forecasting models that need one, a whole number. Change it to see how "
            "much depends on chance.",
        ),
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.lead_s
        make_model(self.predictor, self.seed)

    @property
    def lead_s(self) -> float | None:
        """None when it is to be measured."""
        return None if self.lead == AUTO else seconds(self.lead, "lead")
