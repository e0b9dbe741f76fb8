"""Options of Ra-Stream: the paper's parameters (Table 4), and those that the paper leaves open."""

from typing import Annotated, Any, Literal

import msgspec

from rheostat.duration import Duration, positive_seconds, seconds
from rheostat.placement import Annealing, Costs, ResourceWeights, Search, UtilisationLimits
from rheostat.placement.model.objective import EPSILON
from rheostat.policies.policy import PolicyOptions

Meta = msgspec.Meta
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class RaStreamOptions(PolicyOptions, frozen=True, kw_only=True):
    """`scaling` is the policy that sizes the pools; all other options are about placement."""

    scaling: Annotated[str, Meta(description="the policy that sizes the pools")] = "static"
    scaling_options: Annotated[dict[str, Any], Meta(description="options of that policy")] = {}
    algorithm: Annotated[
        Literal["ra-stream", "annealing", "even", "sp-ant", "metis"],
        Meta(description="how executors are placed on nodes; the others are for comparison"),
    ] = "ra-stream"
    t_under: Annotated[Share, Meta(description="T_under, the utilisation below which a node is too empty")] = 0.60
    t_over: Annotated[Share, Meta(description="T_over, the utilisation above which a node is too full")] = 0.75
    alpha: Annotated[Share, Meta(description="α (and γ), the weight of the processor in a node's utilisation")] = 0.50
    beta: Annotated[Share, Meta(description="β (and δ), the weight of memory; I/O has the rest")] = 0.35
    epsilon: Annotated[Share, Meta(description="ε, the weight of the cut against the balance of subgraphs")] = EPSILON
    frame: Annotated[
        Duration, Meta(description="st, the time over which rates are averaged, and before the first plan")
    ] = "30s"
    rate_change: Annotated[
        float, Meta(gt=0, description="the share by which the rate must have changed for a new plan")
    ] = 0.2
    margin: Annotated[
        Share,
        Meta(
            description="for executors to move, the share by which the cost of communication must fall, or the part of "
            "a node by which the load on full nodes must fall"
        ),
    ] = 0.1
    reserve: Annotated[
        Share, Meta(description="the share by which a placement allows for more load than was measured")
    ] = 0.05
    horizon: Annotated[
        Duration, Meta(description="how long a placement is expected to last: its gain counts for that time")
    ] = "5m"
    pause: Annotated[Duration, Meta(description="how long an executor pauses when it moves")] = "4s"
    process_cost: Annotated[Duration, Meta(description="C_CP, the cost of a record between two processes")] = "200us"
    node_cost: Annotated[Duration, Meta(description="C_CN, the cost of a record between two nodes")] = "1ms"
    processes: Annotated[
        Count | None, Meta(description="processes on each node; left out: as many as it has slots")
    ] = None
    process_executors: Annotated[Count | None, Meta(description="executors in each process; left out: any number")] = (
        None
    )
    fuse: Annotated[
        bool, Meta(description="have neighbours in a chain share a query where all their executors are on one node")
    ] = False
    fuse_load: Annotated[
        Share, Meta(description="how busy executors of fused operators may be; above it they are split")
    ] = 0.7
    seed: Annotated[int, Meta(ge=0, description="of everything random in the search")] = 0

    def __post_init__(self) -> None:
        for each in (self.limits, self.costs, self.frame_s, self.horizon_s, self.pause_s):
            assert each is not None

    @property
    def limits(self) -> UtilisationLimits:
        weights = ResourceWeights(self.alpha, self.beta)
        return UtilisationLimits(self.t_under, self.t_over, weights, weights)

    @property
    def costs(self) -> Costs:
        return Costs(seconds(self.process_cost, "process_cost"), seconds(self.node_cost, "node_cost"))

    @property
    def search(self) -> Search:
        return Search(self.epsilon, Annealing(), self.seed)

    @property
    def frame_s(self) -> float:
        return positive_seconds(self.frame, "frame")

    @property
    def horizon_s(self) -> float:
        return positive_seconds(self.horizon, "horizon")

    @property
    def pause_s(self) -> float:
        return seconds(self.pause, "pause")
