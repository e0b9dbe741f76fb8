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

    scaling: Annotated[
        str,
        Meta(
            description="Policy that decides how many executors there are, by its name; this one only places them. "
            'Set it to have the numbers follow the load, for example "drs".'
        ),
    ] = "static"
    scaling_options: Annotated[
        dict[str, Any],
        Meta(
            description="Options of the policy named in `scaling`, by name. Set them as you would for that policy "
            "alone."
        ),
    ] = {}
    algorithm: Annotated[
        Literal["ra-stream", "annealing", "even", "sp-ant", "metis"],
        Meta(
            description='How executors are placed on nodes: "ra-stream" (few nodes, much traffic within them), or '
            'to compare with it "annealing", "even", "sp-ant" or "metis". Change it only for comparisons.'
        ),
    ] = "ra-stream"
    t_under: Annotated[
        Share,
        Meta(
            description="Utilisation of a node, as a share from 0 to 1, below which it counts as too empty and a "
            "new placement is computed. Lower it if executors are moved too often at low load."
        ),
    ] = 0.60
    t_over: Annotated[
        Share,
        Meta(
            description="Utilisation of a node, as a share from 0 to 1, above which it counts as too full and a "
            "new placement is computed. Lower it to keep more in reserve on each node."
        ),
    ] = 0.75
    alpha: Annotated[
        Share,
        Meta(
            description="Weight of the processor in a node's utilisation, from 0 to 1. Raise it if processors are "
            "what your nodes run out of."
        ),
    ] = 0.50
    beta: Annotated[
        Share,
        Meta(
            description="Weight of memory in a node's utilisation, from 0 to 1; I/O has what it and `alpha` leave "
            "of 1. Raise it if memory is what your nodes run out of."
        ),
    ] = 0.35
    epsilon: Annotated[
        Share,
        Meta(
            description="Weight, from 0 to 1, of little traffic between nodes against equal traffic within each of "
            "them. Raise it if the network is the bottleneck."
        ),
    ] = EPSILON
    frame: Annotated[
        Duration,
        Meta(
            description="Time over which rates are averaged, and before the first placement, as a duration. "
            "Lengthen it if the load varies much from minute to minute."
        ),
    ] = "30s"
    rate_change: Annotated[
        float,
        Meta(
            gt=0,
            description="Share by which the input rate must have changed for a new placement, above 0; 0.2 is 20 "
            "%. Raise it if executors are moved too often.",
        ),
    ] = 0.2
    margin: Annotated[
        Share,
        Meta(
            description="Least gain, as a share from 0 to 1, for which executors are moved: less traffic, or less "
            "load on nodes that are too full. Raise it if executors are moved too often."
        ),
    ] = 0.1
    reserve: Annotated[
        Share,
        Meta(
            description="Share by which a placement allows for more load than was measured, from 0 to 1. Raise it "
            "if nodes become too full soon after a placement."
        ),
    ] = 0.05
    horizon: Annotated[
        Duration,
        Meta(
            description="Time for which a placement is expected to last, as a duration: its gain over that time "
            "must outweigh the moves. Shorten it if the load changes often."
        ),
    ] = "5m"
    pause: Annotated[
        Duration,
        Meta(
            description="Time for which an executor does not work when it is moved, as a duration. Set it to what "
            "a move takes in your cluster."
        ),
    ] = "4s"
    process_cost: Annotated[
        Duration,
        Meta(
            description="Time that it costs to hand one record to another process on the same node, as a duration. "
            "Set it to what you measured; the ratio to `node_cost` matters most."
        ),
    ] = "200us"
    node_cost: Annotated[
        Duration,
        Meta(
            description="Time that it costs to hand one record to another node, as a duration. Set it to what you "
            "measured; a slow network costs more."
        ),
    ] = "1ms"
    processes: Annotated[
        Count | None,
        Meta(
            description="Number of processes on each node. Left out, as many as the node has slots. Set it if your "
            "cluster starts fewer."
        ),
    ] = None
    process_executors: Annotated[
        Count | None,
        Meta(
            description="Number of executors in each process. Left out, any number. Set it if a process has a "
            "fixed number of slots."
        ),
    ] = None
    fuse: Annotated[
        bool,
        Meta(
            description="Whether neighbouring operators become one query when all their executors are on one node, "
            "which saves the hand-over of records. Turn it on if hand-overs cost much of the latency."
        ),
    ] = False
    fuse_load: Annotated[
        Share,
        Meta(
            description="Utilisation of the executors of fused operators, as a share from 0 to 1, above which the "
            "operators are split again. Lower it if fused operators fall behind."
        ),
    ] = 0.7
    seed: Annotated[
        int,
        Meta(
            ge=0,
            description="Random seed of the search for a placement, a whole number. Change it to see how much "
            "depends on chance.",
        ),
    ] = 0

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
