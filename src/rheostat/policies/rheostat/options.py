"""Options of the `rheostat` policy."""

from typing import Annotated

import msgspec

from rheostat.duration import Duration
from rheostat.policies.policy import PolicyOptions


class RheostatOptions(PolicyOptions, frozen=True, kw_only=True):
    """Few, and good without any."""

    caution: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            lt=1,
            description="Share of the rises of the load seen before that the SLA should survive. Raise it if the SLA "
            "is missed when the load jumps; lower it to pay less.",
        ),
    ] = 0.95
    penalty: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="What a second out of the SLA is worth, in seconds of all executors that the load needs. Raise "
            "it to be back within the SLA sooner after a surge, with more executors.",
        ),
    ] = 5.0
    keep: Annotated[
        Duration,
        msgspec.Meta(
            description="How long executors are kept after they were last needed, or as long as one takes to start if "
            "that is longer. Lengthen it if executors are removed and soon needed again."
        ),
    ] = "30s"
