"""Options of the Flink policy, with the defaults of the Flink Kubernetes operator's autoscaler."""

from typing import Annotated

import msgspec

from rheostat.duration import Duration
from rheostat.errors import ConfigError
from rheostat.policies.policy import PolicyOptions

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class FlinkOptions(PolicyOptions, frozen=True, kw_only=True):
    """The defaults are for jobs of hours and days: it decides after 20 minutes at the earliest."""

    target_utilisation: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            le=1,
            description="Utilisation to aim at, as a share from 0 to 1. Lower it to keep more in reserve for rising "
            "load.",
        ),
    ] = 0.7
    boundary: Annotated[
        Share,
        msgspec.Meta(
            description="Distance from the utilisation to aim at, as a share, within which nothing changes. Raise it "
            "for fewer actions."
        ),
    ] = 0.3
    metrics_window: Annotated[
        Duration,
        msgspec.Meta(
            description="Time over which rates are averaged, as a duration; no decision is made before it is full. "
            "Shorten it to follow the load faster."
        ),
    ] = "15m"
    stabilisation: Annotated[
        Duration,
        msgspec.Meta(
            description="Time after an action in which nothing is measured or decided, as a duration. Shorten it if "
            "executors are soon up to speed."
        ),
    ] = "5m"
    catch_up: Annotated[
        Duration,
        msgspec.Meta(
            description="Time within which a backlog is to be worked off after an action, as a duration. 0 ignores "
            "backlogs. Shorten it for a lower latency after a surge, with more executors."
        ),
    ] = "30m"
    restart: Annotated[
        Duration,
        msgspec.Meta(
            description="Time for which an action stops the pipeline, as a duration: what arrives in it is to be "
            "caught up as well. Set it to what actions cost in your pipeline."
        ),
    ] = "5m"
    scale_down_interval: Annotated[
        Duration,
        msgspec.Meta(
            description="Time for which fewer executors must have been wanted before any is removed, as a duration; "
            "the most that were wanted in it stay. Shorten it to save executors earlier."
        ),
    ] = "1h"
    max_scale_down: Annotated[
        Share,
        msgspec.Meta(
            description="Largest share of the executors of a pool that is removed at once; 1 is no limit. Lower it for "
            "smaller steps."
        ),
    ] = 0.6
    max_scale_up: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            description="Most executors that are added at once, as a share of those there are: 1 doubles them. Lower "
            "it for smaller steps.",
        ),
    ] = 100_000.0
    backlog_threshold: Annotated[
        Duration,
        msgspec.Meta(
            description="Age of a backlog above which nothing is removed and no executor is added for utilisation "
            "alone, as a duration. Lower it to let the pipeline catch up undisturbed earlier."
        ),
    ] = "5m"

    def __post_init__(self) -> None:
        if self.boundary > self.target_utilisation:
            raise ConfigError(
                f"boundary {self.boundary!r} must not be above target_utilisation {self.target_utilisation!r}"
            )
