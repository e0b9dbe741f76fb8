"""Testing: a plant made of arithmetic and a manual clock, for tests of policies and of the loop.

plant = FakePlant(topology, arrival_rate=180, service_rate=100)
Controller(plant, make_policy("threshold", goal), goal).run(for_="5m")
assert plant.applied[-1].size("work") == 3
"""

from collections import deque
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
    """Operators through which records flow like water: no randomness, no variation, no waiting for real time.
    Each has a pool of its own.

    Each source emits at `arrival_rate`, each executor serves at `service_rate` (a number, or one for each
    operator). What a new plan wants for an operator becomes real `settle_s` after it was applied. What was
    applied is in `applied`. It can group stateless operators and place executors, unless other `capabilities` are set.
    Snapshots put into `script` are shown before its own; an error put into `failures` under
    "observe", "apply" or "reached" is raised there until it is taken out; `obstacles` is what `apply` returns,
    and while there are any no plan becomes real.
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
        self._sent: dict[str, float] = {}
        rates = service_rate if isinstance(service_rate, Mapping) else dict.fromkeys(topology.operators, service_rate)
        self._flows = {name: _Flow(name, rates[name]) for name in topology.operators}

    def observe(self) -> Snapshot:
        self._raise("observe")
        self._flow()
        return self.script.popleft() if self.script else self._snapshot()

    def apply(self, plan: Plan) -> tuple[str, ...]:
        self._raise("apply")
        self._flow()
        self.applied.append(plan)
        for name in self.topology.operators:
            if not _same(plan, self._wanted, name):
                self._wanted_since_s[name] = self.clock.now()
        self._wanted = plan
        self._settle()
        return self.obstacles

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        self._raise("reached")
        self._settle()
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
        """Let the records flow up to now. What a loop sends back arrives at the next call."""
        now_s = self.clock.now()
        interval_s, self._flowed_until_s = now_s - self._flowed_until_s, now_s
        if interval_s > 0:
            emitted = interval_s * (self._arrival_rate(now_s) if callable(self._arrival_rate) else self._arrival_rate)
            for source in self._emitted:
                self._emitted[source] += emitted
                self._sent[source] = emitted
            for name, operator in self.topology.operators.items():
                arriving = sum(self._sent.get(stream, 0.0) for stream in operator.inputs)
                done = self._flows[name].add(arriving, self._running.pool(name).executors, interval_s)
                self._sent.update({stream: done * share for stream, share in operator.selectivities.items()})
        self._settle()

    def _snapshot(self) -> Snapshot:
        flows = self._flows.values()
        terminal = self._flows[self.topology.terminals[-1]] if self.topology.terminals else None
        return Snapshot(
            self.clock.now(),
            tuple(flow.operator() for flow in flows),
            tuple(executor for flow in flows for executor in flow.executors(self._running, self._wanted)),
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


class _Flow:
    """The records of one operator, as real numbers; executors and substreams get equal shares of them."""

    def __init__(self, name: OperatorName, service_rate: float) -> None:
        self.latency: Latency | None = None
        self._name = name
        self._service_rate = service_rate
        self._arrived = self._completed = 0.0
        self._by_executor: dict[int, tuple[float, float]] = {}

    def add(self, arriving: float, executors: tuple[int, ...], interval_s: float) -> float:
        """How much of what waits and of `arriving` is completed within `interval_s`."""
        self._arrived += arriving
        done = min(self._arrived - self._completed, len(executors) * self._service_rate * interval_s)
        self._completed += done
        for executor in executors:
            arrived, completed = self._by_executor.get(executor, (0.0, 0.0))
            self._by_executor[executor] = (arrived + arriving / len(executors), completed + done / len(executors))
        waiting_s = (self._arrived - self._completed) / (len(executors) * self._service_rate)
        self.latency = Latency(int(done), waiting_s + 1 / self._service_rate)
        return done

    def operator(self) -> OperatorState:
        arrived, completed = int(self._arrived), int(self._completed)
        busy_s = self._completed / self._service_rate
        return OperatorState(self._name, arrived, completed, 0, arrived - completed, busy_s, self.latency)

    def executors(self, running: Plan, wanted: Plan) -> list[ExecutorState]:
        """Those that serve, and those that are still wanted."""
        pool = running.pool_of[self._name]
        serving, starting = running.pools[pool].executors, wanted.pools[pool].executors
        states = [self._executor(pool, number) for number in serving]
        return states + [ExecutorState(pool, n, ExecutorPhase.STARTING) for n in starting if n not in serving]

    def _executor(self, pool: PoolName, number: int) -> ExecutorState:
        arrived, completed = self._by_executor.get(number, (0.0, 0.0))
        busy_s = completed / self._service_rate
        return ExecutorState(pool, number, ExecutorPhase.ACTIVE, int(arrived), int(completed), busy_s=busy_s)

    def substreams(self, running: Plan) -> list[SubstreamState]:
        owners = running.assignment.get(self._name, ())
        arrived, completed = (int(count / max(len(owners), 1)) for count in (self._arrived, self._completed))
        return [
            SubstreamState(self._name, index, owner, arrived, completed, arrived - completed)
            for index, owner in enumerate(owners)
        ]
