"""Simulated plant: the simulator behind the interface of the control loop; it follows a plan and reports snapshots."""

import threading
from collections.abc import Iterator, Mapping, Sequence

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
    """Simulated time: waiting runs the cluster, with `pace` no more than so many seconds of it in one of real time."""

    def __init__(self, cluster: Cluster, pace: float | None = None) -> None:
        self._cluster, self._pace = cluster, pace
        self._interrupted = threading.Event()

    def now(self) -> float:
        return self._cluster.now_s

    def wait_until(self, time_s: float) -> bool:
        if self._pace is not None:
            self._interrupted.wait((time_s - self._cluster.now_s) / self._pace)
        self._cluster.advance(time_s)
        return True

    def interrupt(self) -> None:
        """From now on nothing is waited for: the rest takes as long as it takes to compute."""
        self._interrupted.set()


class SimPlant:
    """A simulated cluster under a plan; everything random in it comes from `rng`. For `pace` see `SimClock`."""

    def __init__(
        self, model: SimModel, rng: np.random.Generator, plan: Plan | None = None, *, pace: float | None = None
    ) -> None:
        self.model = model
        self.cluster = Cluster(model, rng)
        self._clock = SimClock(self.cluster, pace)
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
        full = [pool for pool in self._plan.pools if not any(self._has_room(node.name, pool) for node in nodes)]
        short = frozenset(filter(self._lacks_executors, full))
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
        obstacles += self._relocate()
        for operator in plan.assignment:
            self._move(operator)
        for pool in plan.pools:
            self._scale_in(pool)
        for operator, pool in plan.pool_of.items():
            self._regroup(operator)
            self.cluster.row(operator).planned = self._will_serve(pool)
        return tuple(obstacles)

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        """The pools that are as `plan` says; none while the topology is paused for a change."""
        if self.cluster.pauses.topology_paused_for_s > 0 or self._has_other_pools(plan):
            return frozenset()
        return plan.pools_within([operator for operator in self.topology.operators if self._is_real(operator, plan)])

    def _will_serve(self, pool: PoolName) -> int:
        """The executors that serve and will go on to, and those that start to."""
        return sum(member.phase is not ExecutorPhase.LEAVING for member in self.cluster.registry.serving(pool))

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
                    raise PlantError(f"no node has {self._room} for executor {number} of {name!r}: add nodes or slots")
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
        """Start an executor; None when there is no room."""
        executor = self._add(pool, number)
        if executor is not None:
            self.cluster.lifecycle.start(executor)
        return executor

    def _add(self, pool: PoolName, number: int) -> SimExecutor | None:
        """A new executor on the node that the plan names, else on the emptiest one; None when there is no room."""
        location = self._plan.pools[pool].locations.get(number)
        node = self._emptiest_node(pool) if location is None else location.node
        if self.model.cluster.nodes and (node is None or not self._has_room(node, pool)):
            return None
        process = None if location is None else location.process
        return self.cluster.lifecycle.add(pool, number, self._plan.sharing(pool), node, process)

    def _emptiest_node(self, pool: PoolName) -> str | None:
        """The node with the most free slots of those with room for an executor of `pool`."""
        nodes, registry = self.model.cluster.nodes, self.cluster.registry
        free = {
            node.name: node.slots - registry.on_node(node.name) for node in nodes if self._has_room(node.name, pool)
        }
        return max(free, key=lambda name: free[name]) if free else None

    def _has_room(self, name: str, pool: PoolName) -> bool:
        """Whether a slot and the memory for an executor of `pool` are free on a node."""
        members = [each for each in self.cluster.registry.members.values() if each.node == name]
        return self._can_hold(name, members, self._plan.sharing(pool))

    def _can_hold(self, name: str, members: Sequence[SimExecutor], more: Sequence[OperatorName] | None = None) -> bool:
        """Whether a node has slots and memory for `members`, and one of the operators `more`."""
        node = next((each for each in self.model.cluster.nodes if each.name == name), None)
        if node is None:
            raise PlantError(f"there is no node {name!r}; {nearest(name, [n.name for n in self.model.cluster.nodes])}")
        held = [each.operators for each in members] + ([] if more is None else [more])
        return len(held) <= node.slots and sum(map(self.model.memory, held)) <= 1 + 1e-9

    @property
    def _room(self) -> str:
        """What an executor needs of a node, in words."""
        needs_memory = any(self.model.operator(name).memory for name in self.topology.operators)
        return "a free slot and free memory" if needs_memory else "a free slot"

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
                obstacles.append(f"no node has {self._room} for executor {number} of {pool!r}")
        while len(registry.standbys(pool)) + self._freed(pool) < wanted.standby:
            if self._request(pool, registry.next_standby()) is None:
                return [*obstacles, f"no node has {self._room} for a standby of {pool!r}"]
        return obstacles

    def _freed(self, pool: PoolName) -> int:
        """The number of executors that the plan no longer needs: they can stand by once they are empty."""
        serving, wanted = self.cluster.registry.serving(pool), self._plan.pools[pool].executors
        phases = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)
        return sum(e.id not in wanted and e.phase in phases and not e.stopping for e in serving)

    def _relocate(self) -> list[str]:
        """Move all executors at once that find room where the plan has them, so that they can swap places."""
        moving = dict(self._misplaced())
        obstacles = []
        while (stuck := next((each for each in reversed(moving) if not self._fits(each, moving)), None)) is not None:
            node = moving.pop(stuck).node
            obstacles.append(f"node {node!r} lacks {self._room} for executor {stuck.id} of {stuck.pool!r}")
        for executor, location in moving.items():
            self.cluster.lifecycle.relocate(executor, location.node, location.process)
        return obstacles[::-1]

    def _misplaced(self) -> Iterator[tuple[SimExecutor, Location]]:
        """The executors that the plan has elsewhere, with the location there."""
        for pool, wanted in self._plan.pools.items():
            for number, location in wanted.locations.items():
                executor = self.cluster.registry.members.get((pool, number))
                if executor is not None and executor.phase is ExecutorPhase.ACTIVE and not _is_at(executor, location):
                    yield executor, location

    def _fits(self, executor: SimExecutor, moving: Mapping[SimExecutor, Location]) -> bool:
        """Whether the node that `executor` moves to can hold all that will be there."""
        name = moving[executor].node
        members = self.cluster.registry.members.values()
        there = [each for each in members if (moving[each].node if each in moving else each.node) == name]
        return name == executor.node or self._can_hold(name, there)

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
