"""Testing: a plant made of arithmetic and a manual clock, for tests of policies and of the loop.

plant = FakePlant(topology, arrival_rate=180, service_rate=100)
Controller(plant, make_policy("threshold", goal), goal).run(for_="5m")
assert plant.applied[-1].size("work") == 3
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.clock import Clock, ManualClock
from rheostat.decision import Location, Place, Regroup
from rheostat.grouping.check import KEY, ROUND_ROBIN
from rheostat.grouping.check import NAMES as GROUPINGS
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.snapshot import (
    ExecutorPhase,
    ExecutorState,
    Latency,
    OperatorState,
    Snapshot,
    StreamState,
    SubstreamState,
)
from rheostat.topology import Topology

__all__ = ["FakePlant", "ManualClock"]

T = TypeVar("T")

Rate = float | Callable[[float], float]
"""Records per second, constant or as a function of the time in seconds."""


class FakePlant:
    """Operators through which records flow as real numbers: no randomness, no variation, no real time.

    Each source emits at `arrival_rate`, each executor serves at `service_rate` (a number, or one for each operator).
    Operators that share a pool in `plan` share its time equally, as far as they need it. A new plan becomes real
    `settle_s` after it was applied; all of them are in `applied`. The plant can group stateless operators and place
    executors, unless other `capabilities` are set; a plan that needs more is reported by `apply` and changes nothing.

    Snapshots put into `script` are returned before its own. An error put into `failures` under "observe", "apply" or
    "reached" is raised there until it is removed. `obstacles` is what `apply` returns; while there are any, no plan
    becomes real.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        arrival_rate: Rate = 100.0,
        service_rate: float | Mapping[str, float] = 100.0,
        plan: Plan | None = None,
        settle_s: float = 0.0,
        clock: Clock | None = None,
    ) -> None:
        self.topology = topology
        self.clock: Clock = clock or ManualClock()
        self.applied: list[Plan] = []
        self.script: deque[Snapshot] = deque()
        self.failures: dict[str, Exception] = {}
        self.obstacles: tuple[str, ...] = ()
        stateless = [name for name, operator in topology.operators.items() if not operator.keyed]
        self.capabilities = Capabilities(can_place=True, groupings=dict.fromkeys(stateless, GROUPINGS))
        self._arrival_rate = arrival_rate
        self.settle_s = settle_s
        self._running = self._wanted = plan or Plan.initial(topology)
        self._wanted_since_s: dict[OperatorName, float] = {}
        self._flowed_until_s = self.clock.now()
        self._emitted = dict.fromkeys(topology.sources, 0.0)
        self._sent: dict[tuple[str, OperatorName], float] = {}
        rates = service_rate if isinstance(service_rate, Mapping) else dict.fromkeys(topology.operators, service_rate)
        self._flows = {name: _OperatorFlow(name, rates[name]) for name in topology.operators}
        self._pools = {name: _PoolFlow(name) for name in self._running.pools}

    def observe(self) -> Snapshot:
        self._raise("observe")
        self._flow()
        return self.script.popleft() if self.script else self._snapshot()

    def apply(self, plan: Plan) -> tuple[str, ...]:
        self._raise("apply")
        self._flow()
        self.applied.append(plan)
        if refused := self._refused(plan):
            return (*refused, *self.obstacles)
        for name in self.topology.operators:
            if not _same(plan, self._wanted, name):
                self._wanted_since_s[name] = self.clock.now()
        self._wanted = plan
        self._settle()
        return self.obstacles

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        self._raise("reached")
        if _has_other_pools(plan, self._running):
            return frozenset()
        running = self._settled(self._due())
        return plan.pools_within([name for name in self.topology.operators if _same(plan, running, name)])

    def _raise(self, where: str) -> None:
        if where in self.failures:
            raise self.failures[where]

    def _refused(self, plan: Plan) -> tuple[str, ...]:
        """What `plan` needs beyond the capabilities, in words."""
        running = self._running
        if _has_other_pools(plan, running):
            return ("operators of a fake plant keep the pools they have: they are neither fused nor split",)
        regroups = [
            Regroup(operator=name, grouping=grouping, reason="")
            for name, grouping in plan.grouping.items()
            if grouping not in (running.grouping.get(name), self._usual_grouping(name))
        ]
        places = [
            Place(pool=name, locations=pool.locations, reason="")
            for name, pool in plan.pools.items()
            if pool.locations.items() - running.pools[name].locations.items()
        ]
        return tuple(why for each in (*regroups, *places) if (why := self.capabilities.why_not(each)) is not None)

    def _usual_grouping(self, operator: OperatorName) -> str:
        return KEY if self.topology.operators[operator].keyed else ROUND_ROBIN

    def _due(self) -> list[OperatorName]:
        """The operators for which what is wanted becomes real now."""
        now_s, waiting = self.clock.now(), {} if self.obstacles else self._wanted_since_s
        return [n for n, since_s in waiting.items() if now_s >= since_s + self.settle_s]

    def _settled(self, operators: Iterable[OperatorName]) -> Plan:
        """What runs when these operators are as they are wanted."""
        running = self._running
        for name in operators:
            running = _with(running, self._wanted, name)
        return running

    def _settle(self) -> None:
        due = self._due()
        self._running = self._settled(due)
        for name in due:
            del self._wanted_since_s[name]

    def _flow(self) -> None:
        """Let the records flow up to now: first each operator in its share of the time, then in what others left."""
        now_s = self.clock.now()
        interval_s, self._flowed_until_s = now_s - self._flowed_until_s, now_s
        if interval_s > 0:
            emitted = interval_s * (self._arrival_rate(now_s) if callable(self._arrival_rate) else self._arrival_rate)
            for source in self._emitted:
                self._emitted[source] += emitted
                self._send(source, emitted)
            left_s = {name: pool.size * interval_s for name, pool in self._running.pools.items()}
            for flow in self._flows.values():
                flow.begin()
            sharers = Counter(self._running.pool_of.values())
            for name, pool in self._running.pool_of.items():
                inputs = self.topology.operators[name].inputs
                arriving = sum(self._sent.pop((stream, name), 0.0) for stream in inputs)
                left_s[pool] -= self._serve(name, arriving, left_s[pool] / sharers[pool])
                sharers[pool] -= 1
            for name, pool in self._running.pool_of.items():
                left_s[pool] -= self._serve(name, 0.0, left_s[pool])
        self._settle()

    def _serve(self, name: OperatorName, arriving: float, available_s: float) -> float:
        """Serve one operator, and return the time that it used. Records on a loop arrive at the next call."""
        pool = self._running.pool_of[name]
        executors = self._running.pools[pool].executors
        done, busy_s = self._flows[name].add(arriving, max(0.0, available_s), len(executors))
        self._pools[pool].add(arriving, done, busy_s, executors)
        for stream, share in self.topology.operators[name].selectivities.items():
            self._send(stream, done * share)
        return busy_s

    def _send(self, stream: str, records: float) -> None:
        for consumer in (each.consumer for each in self.topology.streams if each.name == stream):
            self._sent[stream, consumer] = self._sent.get((stream, consumer), 0.0) + records

    def _snapshot(self) -> Snapshot:
        flows, groupings = self._flows.values(), self._running.grouping
        terminal = self._flows[self.topology.terminals[-1]] if self.topology.terminals else None
        return Snapshot(
            self.clock.now(),
            tuple(flow.operator(groupings.get(n) or self._usual_grouping(n)) for n, flow in self._flows.items()),
            tuple(state for pool in self._pools.values() for state in pool.executors(self._running, self._wanted)),
            tuple(substream for flow in flows for substream in flow.substreams(self._running)),
            tuple(
                StreamState(stream.name, stream.consumer, int(self._emitted[stream.name]))
                for stream in self.topology.streams
                if stream.name in self._emitted
            ),
            latency=None if terminal is None else terminal.latency,
        )


def _has_other_pools(one: Plan, other: Plan) -> bool:
    return one.pool_of != other.pool_of or one.fused != other.fused


def _parts(plan: Plan, operator: OperatorName) -> tuple[object, ...]:
    return plan.pool(operator), plan.assignment.get(operator), plan.grouping.get(operator)


def _same(one: Plan, other: Plan, operator: OperatorName) -> bool:
    return _parts(one, operator) == _parts(other, operator)


def _with(running: Plan, wanted: Plan, operator: OperatorName) -> Plan:
    """What runs, with one operator as it is wanted."""
    pool = running.pool_of[operator]
    return msgspec.structs.replace(
        running,
        pools={**running.pools, pool: wanted.pools[pool]},
        assignment=_with_entry(running.assignment, wanted.assignment, operator),
        grouping=_with_entry(running.grouping, wanted.grouping, operator),
    )


def _with_entry(
    running: Mapping[OperatorName, T], wanted: Mapping[OperatorName, T], name: OperatorName
) -> dict[OperatorName, T]:
    """`running`, with the entry that `wanted` has for `name`, or without one."""
    others = {key: value for key, value in running.items() if key != name}
    return others | {key: value for key, value in wanted.items() if key == name}


class _OperatorFlow:
    """The records of one operator; its substreams get equal shares of them."""

    def __init__(self, name: OperatorName, service_rate: float) -> None:
        self.latency: Latency | None = None
        self._name = name
        self._service_rate = service_rate
        self._arrived = self._completed = self._completed_before = 0.0

    def begin(self) -> None:
        """A new interval, for which the latency counts."""
        self._completed_before = self._completed

    def add(self, arriving: float, available_s: float, executors: int) -> tuple[float, float]:
        """How many records complete in `available_s` of its pool's time, and how much of it they take."""
        self._arrived += arriving
        done = min(self._arrived - self._completed, available_s * self._service_rate)
        self._completed += done
        waiting_s = (self._arrived - self._completed) / (executors * self._service_rate)
        self.latency = Latency(int(self._completed - self._completed_before), waiting_s + 1 / self._service_rate)
        return done, done / self._service_rate

    def operator(self, grouping: str) -> OperatorState:
        arrived, completed = int(self._arrived), int(self._completed)
        queued, busy_s = arrived - completed, self._completed / self._service_rate
        return OperatorState(self._name, arrived, completed, 0, queued, busy_s, self.latency, grouping=grouping)

    def substreams(self, running: Plan) -> list[SubstreamState]:
        owners = running.assignment.get(self._name, ())
        arrived, completed = (int(count / max(len(owners), 1)) for count in (self._arrived, self._completed))
        return [
            SubstreamState(self._name, index, owner, arrived, completed, arrived - completed)
            for index, owner in enumerate(owners)
        ]


class _PoolFlow:
    """The executors of one pool, with equal shares of what its operators do."""

    def __init__(self, name: PoolName) -> None:
        self._name = name
        self._counters: dict[int, tuple[float, float, float]] = {}

    def add(self, arrived: float, completed: float, busy_s: float, executors: tuple[int, ...]) -> None:
        """A number that is not in use any more is forgotten, and starts at nothing again."""
        shares = (arrived / len(executors), completed / len(executors), busy_s / len(executors))
        before = {number: self._counters.get(number, (0.0, 0.0, 0.0)) for number in executors}
        self._counters = {n: (a + shares[0], c + shares[1], b + shares[2]) for n, (a, c, b) in before.items()}

    def executors(self, running: Plan, wanted: Plan) -> list[ExecutorState]:
        """Those that serve, those that start, and standbys."""
        pool, starting = running.pools[self._name], wanted.pools[self._name].executors
        states = [self._executor(number, pool.locations.get(number)) for number in pool.executors]
        new = [number for number in starting if number not in pool.executors]
        states += [ExecutorState(self._name, number, ExecutorPhase.STARTING) for number in new]
        standbys = range(-1, -1 - pool.standby, -1)
        return states + [ExecutorState(self._name, n, ExecutorPhase.WARM, 0, 0, 0, 0.0) for n in standbys]

    def _executor(self, number: int, location: Location | None) -> ExecutorState:
        arrived, completed, busy_s = self._counters.get(number, (0.0, 0.0, 0.0))
        queued, node = max(0, int(arrived) - int(completed)), None if location is None else location.node
        active = ExecutorPhase.ACTIVE
        return ExecutorState(self._name, number, active, int(arrived), int(completed), queued, busy_s, node=node)
