"""Measured placement: the task graph and the nodes as they were measured, and where the executors are now."""

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
from rheostat.policies.observation import NotMeasuredError, Observation
from rheostat.policies.rastream.executor_load import ResourcePrices, loads, supply
from rheostat.policies.rastream.monitor import ExecutorKey, FrameMonitor
from rheostat.policies.rastream.options import RaStreamOptions
from rheostat.snapshot import ExecutorState, NodeState
from rheostat.topology import Topology


@dataclass(frozen=True)
class MeasuredPlacement:
    """Every executor that serves, in the order of `members`, as a task of `problem`; `now` is where they are."""

    members: tuple[ExecutorKey, ...]
    problem: PlacementProblem
    now: Placement


def measure_placement(
    topology: Topology,
    observation: Observation,
    monitor: FrameMonitor,
    prices: ResourcePrices,
    options: RaStreamOptions,
) -> MeasuredPlacement:
    """The placement over the frame of `monitor`; fails with what was not measured.

    `prices` are known from earlier frames; this frame is added to them.
    """
    nodes = [node for node in observation.snapshot.nodes if node.up]
    if not nodes:
        raise NotMeasuredError("the plant reports no nodes: keep the placement")
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
    return MeasuredPlacement(tuple(executors), problem, Placement(problem, scheme, processes))


def _executors(observation: Observation, nodes: set[str | None]) -> dict[ExecutorKey, ExecutorState]:
    """Those of the plan, all of which must run, on a known node."""
    seen = {ExecutorKey(state.pool, state.id): state for state in observation.snapshot.executors}
    wanted = [ExecutorKey(name, number) for name, pool in observation.plan.pools.items() for number in pool.executors]
    for member in wanted:
        if member not in seen:
            raise NotMeasuredError(f"executor {member.number} of {member.pool!r} does not run yet: keep the placement")
        if seen[member].node not in nodes:
            raise NotMeasuredError(
                f"the node of executor {member.number} of {member.pool!r} is unknown: keep the placement"
            )
    return {member: seen[member] for member in wanted}


def _demands(
    executors: dict[ExecutorKey, ExecutorState], nodes: list[NodeState], monitor: FrameMonitor, prices: ResourcePrices
) -> dict[ExecutorKey, Resources]:
    """What each executor needs, but no more than the largest node has: more is up to the scaling policy."""
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
    """The weights of what was not measured go to the other resources: unknown is not idle."""
    weights = options.limits.weights
    known_weights = {name: getattr(weights, name) if name in known else 0.0 for name in Resources._fields}
    total = sum(known_weights.values())
    if total == 0:
        return options.limits
    fair = ResourceWeights(known_weights["cpu"] / total, known_weights["memory"] / total)
    return msgspec.structs.replace(options.limits, weights=fair, surplus=fair)


def _edges(topology: Topology, plan: Plan, members: list[ExecutorKey], monitor: FrameMonitor) -> list[Edge]:
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
