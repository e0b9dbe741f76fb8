"""Testing: a plant made of arithmetic and a manual clock, for tests of policies and of the loop.

plant = FakePlant(topology, arrival_rate=180, service_rate=100)
Controller(plant, make_policy("threshold", goal), goal).run(for_="5m")
assert plant.applied[-1].size("work") == 3
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.clock import Clock, ManualClock
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

Rate = float | Callable[[float], float]
"""Records per second, constant or as a function of the time in seconds."""


class FakePlant:
    """Operators through which records flow as real numbers: no randomness, no variation, no real time.

    Each source emits at `arrival_rate`, each executor serves at `service_rate` (a number, or one for each operator).
    Operators that share a pool in `plan` share its time equally, as far as they need it. A new plan becomes real
    `settle_s` after it was applied; all of them are in `applied`. The plant can group stateless operators and place
    executors, unless other `capabilities` are set.

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
        if plan.pool_of != self._running.pool_of:
            return ("operators of a fake plant keep the pools they have: they are neither fused nor split",)
        for name in self.topology.operators:
            if not _same(plan, self._wanted, name):
                self._wanted_since_s[name] = self.clock.now()
        self._wanted = plan
        self._settle()
        return self.obstacles

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        self._raise("reached")
        self._settle()
        if plan.pool_of != self._running.pool_of:
            return frozenset()
        return plan.pools_within([name for name in self.topology.operators if _same(plan, self._running, name)])

    def _raise(self, where: str) -> None:
        if where in self.failures:
            raise self.failures[where]

    def _settle(self) -> None:
        for name, since_s in list(self._wanted_since_s.items()):
            if not self.obstacles and self.clock.now() >= since_s + self.settle_s:
                self._running = _with(self._running, self._wanted, name)
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
        flows = self._flows.values()
        terminal = self._flows[self.topology.terminals[-1]] if self.topology.terminals else None
        return Snapshot(
            self.clock.now(),
            tuple(flow.operator() for flow in flows),
            tuple(state for pool in self._pools.values() for state in pool.executors(self._running, self._wanted)),
            tuple(substream for flow in flows for substream in flow.substreams(self._running)),
            tuple(
                StreamState(stream.name, stream.consumer, int(self._emitted[stream.name]))
                for stream in self.topology.streams
                if stream.name in self._emitted
            ),
            latency=None if terminal is None else terminal.latency,
        )


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
        assignment={**running.assignment, **{k: v for k, v in wanted.assignment.items() if k == operator}},
        grouping={**running.grouping, **{k: v for k, v in wanted.grouping.items() if k == operator}},
    )


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

    def operator(self) -> OperatorState:
        arrived, completed = int(self._arrived), int(self._completed)
        busy_s = self._completed / self._service_rate
        return OperatorState(self._name, arrived, completed, 0, arrived - completed, busy_s, self.latency)

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
        for number in executors:
            before = self._counters.get(number, (0.0, 0.0, 0.0))
            shares = (arrived / len(executors), completed / len(executors), busy_s / len(executors))
            self._counters[number] = (before[0] + shares[0], before[1] + shares[1], before[2] + shares[2])

    def executors(self, running: Plan, wanted: Plan) -> list[ExecutorState]:
        """Those that serve, and those that start."""
        serving, starting = running.pools[self._name].executors, wanted.pools[self._name].executors
        states = [self._executor(number) for number in serving]
        return states + [ExecutorState(self._name, n, ExecutorPhase.STARTING) for n in starting if n not in serving]

    def _executor(self, number: int) -> ExecutorState:
        arrived, completed, busy_s = self._counters.get(number, (0.0, 0.0, 0.0))
        return ExecutorState(self._name, number, ExecutorPhase.ACTIVE, int(arrived), int(completed), busy_s=busy_s)
