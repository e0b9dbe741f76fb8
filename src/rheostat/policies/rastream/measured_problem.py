"""The task graph and the nodes as they were measured, and where the executors are now."""

from dataclasses import dataclass

import msgspec
import numpy as np

from rheostat.names import OperatorName, PoolName
from rheostat.placement import (
    Edge,
    Placement,
    PlacementNode,
    PlacementProblem,
    Resources,
    ResourceWeights,
    Task,
    TaskGraph,
    UtilisationLimits,
)
from rheostat.placement.model.measured import task_edges
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.rastream.load import loads, supply
from rheostat.policies.rastream.monitor import Member, Monitor
from rheostat.policies.rastream.options import RaStreamOptions
from rheostat.policies.rastream.prices import Prices
from rheostat.snapshot import ExecutorState, NodeState
from rheostat.topology import Topology


class NotKnownError(Exception):
    """Why nothing can be placed now, in words."""


@dataclass(frozen=True)
class Picture:
    """Every executor that serves, in the order of `members`, as a task of `problem`; `now` is where they are."""

    members: tuple[Member, ...]
    problem: PlacementProblem
    now: Placement


def take(
    topology: Topology, observation: Observation, monitor: Monitor, prices: Prices, options: RaStreamOptions
) -> Picture:
    """The picture of the frame that `monitor` has seen; fails with what is missing for one.

    `prices` are those known from frames before; what this frame tells is added to them.
    """
    nodes = [node for node in observation.snapshot.nodes if node.up]
    if not nodes:
        raise NotKnownError("the plant does not tell its nodes: nothing can be placed")
    executors = _executors(observation, {node.name for node in nodes})
    demands = _demands(executors, nodes, monitor, prices)
    known = [resource for resource in Resources._fields if any(getattr(d, resource) for d in demands.values())]
    graph = TaskGraph.of(
        [Task(str(member), demands[member]) for member in executors],
        _edges(topology, observation.plan, list(executors), monitor),
    )
    problem = PlacementProblem(graph, tuple(_node(node, nodes, options) for node in nodes), _limits(options, known))
    position = {node.name: index for index, node in enumerate(nodes)}
    states = executors.values()
    scheme = np.array([position[str(state.node)] for state in states], dtype=np.int64)
    processes = np.array([state.process or 0 for state in states], dtype=np.int64)
    return Picture(tuple(executors), problem, Placement(problem, scheme, processes))


def _executors(observation: Observation, nodes: set[str | None]) -> dict[Member, ExecutorState]:
    """Those that the plan wants, all of which must be there, on a node that is known."""
    seen = {Member(state.pool, state.id): state for state in observation.snapshot.executors}
    wanted = [Member(name, number) for name, pool in observation.plan.pools.items() for number in pool.executors]
    for member in wanted:
        if member not in seen:
            raise NotKnownError(f"executor {member.number} of {member.pool!r} is not there yet")
        if seen[member].node not in nodes:
            raise NotKnownError(f"the node of executor {member.number} of {member.pool!r} is not known")
    return {member: seen[member] for member in wanted}


def _demands(
    executors: dict[Member, ExecutorState], nodes: list[NodeState], monitor: Monitor, prices: Prices
) -> dict[Member, Resources]:
    """What each executor needs, but no more than the largest node has: that is the scaling policy's business."""
    seen = loads(executors, nodes, monitor)
    prices.learn(seen)
    most = Resources(*map(max, *(supply(node, nodes) for node in nodes), Resources()))
    return {member: Resources(*map(min, prices.need(member, load), most)) for member, load in seen.items()}


def _node(node: NodeState, nodes: list[NodeState], options: RaStreamOptions) -> PlacementNode:
    """As many executors as the processes hold, and no more than there are slots."""
    slots, each, number = node.slots, options.process_executors, options.processes
    if each is None and slots is not None:
        each = slots if number is None else -(-slots // number)
    if number is None and slots is not None and each is not None:
        number = max(1, slots // each)
    return PlacementNode(node.name, supply(node, nodes), number, each)


def _limits(options: RaStreamOptions, known: list[str]) -> UtilisationLimits:
    """The weights of what was not measured fall to the others: unknown is not idle."""
    weights = options.limits.weights
    told = {name: getattr(weights, name) if name in known else 0.0 for name in Resources._fields}
    total = sum(told.values())
    if total == 0:
        return options.limits
    fair = ResourceWeights(told["cpu"] / total, told["memory"] / total)
    return msgspec.structs.replace(options.limits, weights=fair, surplus=fair)


def _edges(topology: Topology, plan: Plan, members: list[Member], monitor: Monitor) -> list[Edge]:
    records: dict[PoolName, dict[str, float]] = {}
    for member in members:
        records.setdefault(member.pool, {})[str(member)] = monitor.arriving(member)
    return [
        edge
        for stream in topology.streams
        if (producer := OperatorName(stream.producer)) in topology.operators
        for edge in task_edges(
            monitor.rate(stream.name, stream.consumer) or 0.0,
            records[plan.pool_of[producer]],
            records[plan.pool_of[stream.consumer]],
        )
    ]
