"""For tests of policies and of the loop, yours and ours: a clock that moves when told and a plant made of arithmetic.

plant = FakePlant(topology, arrival_rate=180, service_rate=100)
Controller(plant, make_policy("threshold", goal), goal).run(for_="5m")
assert plant.applied[-1].size("work") == 3
"""

from collections import deque
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
    """Operators through which records flow like water: no randomness, no variation, no waiting for real time.
    Each has a pool of its own.

    Each source emits at `arrival_rate`, each executor serves at `service_rate` (a number, or one for each
    operator). What a new plan wants for an operator becomes real `settle_s` after it was applied. What was
    applied is in `applied`. It can group stateless operators and place executors, unless other `capabilities` are set;
    a plan that needs more than these is reported by `apply`, and changes nothing.
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
            return ("the fake plant's operators keep the pools they have: they are neither fused nor split",)
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
        flows = self._flows.items()
        terminal = self._flows[self.topology.terminals[-1]] if self.topology.terminals else None
        return Snapshot(
            self.clock.now(),
            tuple(
                flow.operator(self._running.grouping.get(name) or self._usual_grouping(name)) for name, flow in flows
            ),
            tuple(executor for _, flow in flows for executor in flow.executors(self._running, self._wanted)),
            tuple(substream for _, flow in flows for substream in flow.substreams(self._running)),
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
        before = {executor: self._by_executor.get(executor, (0.0, 0.0)) for executor in executors}
        self._by_executor = {
            executor: (arrived + arriving / len(executors), completed + done / len(executors))
            for executor, (arrived, completed) in before.items()
        }
        waiting_s = (self._arrived - self._completed) / (len(executors) * self._service_rate)
        self.latency = Latency(int(done), waiting_s + 1 / self._service_rate)
        return done

    def operator(self, grouping: str) -> OperatorState:
        arrived, completed = int(self._arrived), int(self._completed)
        queued, busy_s = arrived - completed, self._completed / self._service_rate
        return OperatorState(self._name, arrived, completed, 0, queued, busy_s, self.latency, grouping=grouping)

    def executors(self, running: Plan, wanted: Plan) -> list[ExecutorState]:
        """Those that serve, those that are still wanted, and standbys."""
        pool = running.pool_of[self._name]
        serving, starting = running.pools[pool].executors, wanted.pools[pool].executors
        locations = running.pools[pool].locations
        states = [self._executor(pool, number, locations.get(number)) for number in serving]
        states += [ExecutorState(pool, n, ExecutorPhase.STARTING) for n in starting if n not in serving]
        standby = range(-1, -1 - running.pools[pool].standby, -1)
        return states + [ExecutorState(pool, n, ExecutorPhase.WARM, 0, 0, 0, 0.0) for n in standby]

    def _executor(self, pool: PoolName, number: int, location: Location | None) -> ExecutorState:
        arrived, completed = self._by_executor.get(number, (0.0, 0.0))
        queued, busy_s = max(0, int(arrived) - int(completed)), completed / self._service_rate
        node = None if location is None else location.node
        return ExecutorState(
            pool, number, ExecutorPhase.ACTIVE, int(arrived), int(completed), queued, busy_s, node=node
        )

    def substreams(self, running: Plan) -> list[SubstreamState]:
        owners = running.assignment.get(self._name, ())
        arrived, completed = (int(count / max(len(owners), 1)) for count in (self._arrived, self._completed))
        return [
            SubstreamState(self._name, index, owner, arrived, completed, arrived - completed)
            for index, owner in enumerate(owners)
        ]
