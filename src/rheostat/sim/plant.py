"""Simulated plant: the simulator behind the interface of the control loop; it follows a plan and reports snapshots."""

from collections.abc import Sequence

import numpy as np

from rheostat.capabilities import Capabilities
from rheostat.decision import Location
from rheostat.duration import seconds
from rheostat.errors import ConfigError, PlantError, nearest
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.sim.build import GROUPINGS
from rheostat.sim.cluster.cluster import Cluster
from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.model import SimModel
from rheostat.sim.observe.meter import SimMeter
from rheostat.snapshot import ExecutorPhase, Snapshot
from rheostat.topology import Topology


class SimClock:
    """Simulated time: waiting runs the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> float:
        return self._cluster.now_s

    def wait_until(self, time_s: float) -> bool:
        self._cluster.advance(time_s)
        return True

    def interrupt(self) -> None:
        """Waits take no real time here, so there is nothing to interrupt."""


class SimPlant:
    """A simulated cluster under a plan; everything random in it comes from `rng`."""

    def __init__(self, model: SimModel, rng: np.random.Generator, plan: Plan | None = None) -> None:
        self.model = model
        self.cluster = Cluster(model, rng)
        self._clock = SimClock(self.cluster)
        self._meter = SimMeter(self.cluster)
        self._groupings = {name: _choices(model, name) for name in model.topology.operators}
        self._plan = plan or initial_plan(model)
        self._install(self._plan)

    @property
    def topology(self) -> Topology:
        return self.model.topology

    @property
    def clock(self) -> SimClock:
        return self._clock

    @property
    def capabilities(self) -> Capabilities:
        nodes = self.model.cluster.nodes
        if not nodes:
            return Capabilities(groupings=self._groupings)
        room = sum(node.slots for node in nodes)
        is_full = not any(self._has_slot(node.name) for node in nodes)
        short = frozenset(filter(self._lacks_executors, self._plan.pools)) if is_full else frozenset()
        return Capabilities(can_place=True, groupings=self._groupings, room=room, short=short)

    def observe(self) -> Snapshot:
        return self._meter.read()

    def apply(self, plan: Plan) -> tuple[str, ...]:
        """Start every change towards `plan` that is possible now; the others start with a later call."""
        if self._has_other_pools(plan):
            return ("the simulator neither fuses nor splits operators: they keep the pools they started with",)
        if plan != self._plan:
            self._pause_for_change(plan)
            self._plan = plan
        obstacles: list[str] = []
        for pool in plan.pools:
            obstacles += self._scale_out(pool)
            obstacles += self._relocate(pool)
        for operator in plan.assignment:
            self._move(operator)
        for pool in plan.pools:
            self._scale_in(pool)
        for operator in plan.pool_of:
            self._regroup(operator)
        return tuple(obstacles)

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        """The pools that are as `plan` says; none while the topology is paused for a change."""
        if self.cluster.pauses.topology_paused_for_s > 0 or self._has_other_pools(plan):
            return frozenset()
        return plan.pools_within([operator for operator in self.topology.operators if self._is_real(operator, plan)])

    def _lacks_executors(self, pool: PoolName) -> bool:
        """Whether the plan has an executor that was not even requested, while no other leaves or starts."""
        members = self.cluster.registry.of(pool)
        wanted = self._plan.pools[pool].executors
        changing = any(member.phase is not ExecutorPhase.ACTIVE for member in members)
        return not changing and {member.id for member in members} < set(wanted)

    def _has_other_pools(self, plan: Plan) -> bool:
        return plan.pool_of != self._plan.pool_of or plan.fused != self._plan.fused

    def _is_real(self, operator: OperatorName, plan: Plan) -> bool:
        pool = plan.pool_of[operator]
        serving = self.cluster.registry.serving(pool)
        if {executor.id for executor in serving} != set(plan.pools[pool].executors):
            return False
        if any(executor.phase is not ExecutorPhase.ACTIVE for executor in serving):
            return False
        locations = plan.pools[pool].locations
        if not all(_is_at(executor, locations[executor.id]) for executor in serving if executor.id in locations):
            return False
        if operator in plan.assignment and self._owners(operator) != plan.assignment[operator]:
            return False
        return self.cluster.is_grouped(operator, self._grouping(operator, plan))

    def _owners(self, operator: OperatorName) -> tuple[int | None, ...]:
        """The number of each substream's executor; None while the substream is moving."""
        number = {executor.index: executor.id for executor in self.cluster.registry.of(self._plan.pool_of[operator])}
        where, moves = self.cluster.substreams(operator), self.cluster.moves
        owners = enumerate(self.cluster.state.substreams.owner[where].tolist(), where.start)
        return tuple(None if moves.under_way(index) else number.get(owner) for index, owner in owners)

    def _install(self, plan: Plan) -> None:
        for name, pool in plan.pools.items():
            operators = plan.sharing(name)
            for number in pool.executors:
                executor = self._add(name, number)
                if executor is None:
                    raise PlantError(f"no node has a free slot for executor {number} of {name!r}: add nodes or slots")
                self.cluster.lifecycle.open(executor, operators)
            for _ in range(pool.standby):
                standby = self._add(name, self.cluster.registry.next_standby())
                if standby is not None:
                    standby.phase = ExecutorPhase.WARM
        members = self.cluster.registry.members
        for operator, owners in plan.assignment.items():
            pool_name = plan.pool_of[operator]
            self.cluster.moves.install(operator, [members[pool_name, number] for number in owners])
        for operator in plan.pool_of:
            self._regroup(operator)

    def _request(self, pool: PoolName, number: int) -> SimExecutor | None:
        """Start an executor; None when no slot is free."""
        executor = self._add(pool, number)
        if executor is not None:
            self.cluster.lifecycle.start(executor)
        return executor

    def _add(self, pool: PoolName, number: int) -> SimExecutor | None:
        """A new executor on the node that the plan names, else on the emptiest one; None when no slot is free."""
        location = self._plan.pools[pool].locations.get(number)
        node = self._emptiest_node() if location is None else location.node
        if self.model.cluster.nodes and (node is None or not self._has_slot(node)):
            return None
        process = None if location is None else location.process
        return self.cluster.lifecycle.add(pool, number, self._plan.sharing(pool), node, process)

    def _emptiest_node(self) -> str | None:
        registry = self.cluster.registry
        free = {node.name: node.slots - registry.on_node(node.name) for node in self.model.cluster.nodes}
        return max(free, key=lambda name: free[name]) if free else None

    def _has_slot(self, name: str) -> bool:
        node = next((each for each in self.model.cluster.nodes if each.name == name), None)
        if node is None:
            raise PlantError(f"there is no node {name!r}; {nearest(name, [n.name for n in self.model.cluster.nodes])}")
        return self.cluster.registry.on_node(name) < node.slots

    def _pause_for_change(self, plan: Plan) -> None:
        cluster = self.model.cluster
        grows = any(set(pool.executors) - set(self._plan.pools[name].executors) for name, pool in plan.pools.items())
        shrinks = any(set(self._plan.pools[name].executors) - set(pool.executors) for name, pool in plan.pools.items())
        moves = plan.assignment != self._plan.assignment or plan.pools != self._plan.pools
        if cluster.restart is not None and moves:
            self.cluster.pauses.pause_topology(seconds(cluster.restart, "restart"))
            if cluster.restart_loses:
                self._lose_waiting([name for name, pool in plan.pools.items() if pool != self._plan.pools[name]])
        elif grows:
            self.cluster.pauses.pause_topology(seconds(cluster.pause_on_add, "pause_on_add"))
        elif shrinks:
            self.cluster.pauses.pause_topology(seconds(cluster.pause_on_remove, "pause_on_remove"))

    def _lose_waiting(self, pools: Sequence[PoolName]) -> None:
        for pool in pools:
            self.cluster.failures.lose_waiting(self.cluster.registry.of(pool), self._plan.sharing(pool))

    def _scale_out(self, pool: PoolName) -> list[str]:
        registry, wanted = self.cluster.registry, self._plan.pools[pool]
        obstacles = []
        for number in wanted.executors:
            if (member := registry.members.get((pool, number))) is not None:
                if member.phase is ExecutorPhase.LEAVING:
                    self.cluster.lifecycle.reopen(member, self._plan.sharing(pool))
                continue
            warm = next((e for e in registry.standbys(pool) if e.phase is ExecutorPhase.WARM), None)
            if warm is not None and number not in wanted.locations:
                self.cluster.lifecycle.activate(warm, number, self._plan.sharing(pool))
            elif self._request(pool, number) is None:
                obstacles.append(f"no node has a free slot for executor {number} of {pool!r}")
        while len(registry.standbys(pool)) + self._freed(pool) < wanted.standby:
            if self._request(pool, registry.next_standby()) is None:
                return [*obstacles, f"no node has a free slot for a standby of {pool!r}"]
        return obstacles

    def _freed(self, pool: PoolName) -> int:
        """The number of executors that the plan no longer needs: they can stand by once they are empty."""
        serving, wanted = self.cluster.registry.serving(pool), self._plan.pools[pool].executors
        phases = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)
        return sum(e.id not in wanted and e.phase in phases and not e.stopping for e in serving)

    def _relocate(self, pool: PoolName) -> list[str]:
        obstacles = []
        for number, location in self._plan.pools[pool].locations.items():
            executor = self.cluster.registry.members.get((pool, number))
            if executor is None or executor.phase is not ExecutorPhase.ACTIVE or _is_at(executor, location):
                continue
            if executor.node == location.node or self._has_slot(location.node):
                self.cluster.lifecycle.relocate(executor, location.node, location.process)
            else:
                obstacles.append(f"node {location.node!r} has no free slot for executor {number} of {pool!r}")
        return obstacles

    def _move(self, operator: OperatorName) -> None:
        """Start the moves whose target is active; substreams with the same source and target share one move."""
        pool = self._plan.pool_of[operator]
        wanted, actual = self._plan.assignment[operator], self._owners(operator)
        groups: dict[tuple[int, int], list[int]] = {}
        for index, (target, source) in enumerate(zip(wanted, actual, strict=True)):
            if source is not None and source != target:
                groups.setdefault((source, target), []).append(index)
        for (_, target), substreams in groups.items():
            executor = self.cluster.registry.members.get((pool, target))
            if executor is not None and executor.phase is ExecutorPhase.ACTIVE:
                self.cluster.moves.move(operator, substreams, executor)

    def _scale_in(self, pool: PoolName) -> None:
        operators = self._plan.sharing(pool)
        wanted = self._plan.pools[pool]
        for executor in self.cluster.registry.serving(pool):
            if executor.id in wanted.executors:
                continue
            if executor.phase is ExecutorPhase.ACTIVE:
                self.cluster.lifecycle.close(executor, operators)
            if executor.phase is ExecutorPhase.LEAVING and self.cluster.lifecycle.empty(executor, operators):
                self._release(executor, wanted.standby)
            elif executor.phase is ExecutorPhase.STARTING:
                self.cluster.lifecycle.remove(executor)
        for standby in self.cluster.registry.standbys(pool)[wanted.standby :]:
            self.cluster.lifecycle.remove(standby)

    def _release(self, executor: SimExecutor, standby: int) -> None:
        if len(self.cluster.registry.standbys(executor.pool)) < standby:
            self.cluster.lifecycle.stand_by(executor)
        else:
            self.cluster.lifecycle.remove(executor)

    def _regroup(self, operator: OperatorName) -> None:
        grouping = self._grouping(operator, self._plan)
        if grouping is not None and grouping not in GROUPINGS:
            raise PlantError(f"the simulator has no grouping {grouping!r}; {nearest(grouping, GROUPINGS)}")
        if grouping is not None:
            self.model.check_grouping(operator, grouping)
        self.cluster.regroup(operator, grouping)

    def _grouping(self, operator: OperatorName, plan: Plan) -> str | None:
        """How `plan` wants the records of `operator` spread: as the model says where it leaves that open."""
        return plan.grouping.get(operator) or self.model.operator(operator).grouping


def _choices(model: SimModel, operator: OperatorName) -> tuple[str, ...]:
    """The groupings that the records of `operator` can have."""
    return tuple(name for name in GROUPINGS if _is_allowed(model, operator, name))


def _is_allowed(model: SimModel, operator: OperatorName, grouping: str) -> bool:
    try:
        model.check_grouping(operator, grouping)
    except ConfigError:
        return False
    return True


def _is_at(executor: SimExecutor, location: Location) -> bool:
    return executor.node == location.node and location.process in (None, executor.process)


def initial_plan(model: SimModel) -> Plan:
    """The pools that the model asks for at the start."""
    names: Sequence[str] = list(model.topology.operators)
    return Plan.initial(
        model.topology,
        {name: model.operator(name).executors for name in names},
        standby={name: model.operator(name).standby for name in names},
    )
