"""A made-up cluster that places executors as it is told and counts as if everything were processed at once."""

from math import fsum

from rheostat.capabilities import Capabilities
from rheostat.decision import Place, Scale
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.snapshot import ExecutorPhase, ExecutorState, NodeState, OperatorState, Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

CHAIN = Topology("chain", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a")])


class Cluster:
    """Operators `a` and `b` in line on nodes of one core; each record takes `work_s` of processor at both.

    It takes `io_s` of its node's I/O as well, of which a node tells no more than that it is full. Where executors do
    not count, only operators do, and executors tell how long they were busy.
    """

    def __init__(
        self, *, nodes=4, executors=2, rate=100.0, work_s=0.004, memory=None, io=None, io_s=None, known_nodes=True,
        executors_count=True,
    ):  # fmt: skip
        self.rate, self.work_s, self.memory, self.io, self.io_s = rate, work_s, memory, io, io_s
        self.executors_count = executors_count
        self.nodes = [f"n{number}" for number in range(nodes)] if known_nodes else []
        self.plan = Plan.initial(CHAIN, executors)
        self.time_s, self.records = 0.0, 0.0
        self.measurer = Measurer(CHAIN)
        members = [(pool, number) for pool in ("a", "b") for number in range(executors)]
        self.spots = {member: (f"n{index % nodes}", index) for index, member in enumerate(members)}
        self.settling = frozenset()
        self.capabilities = Capabilities(can_fuse=True, can_place=True)

    def observe(self, seconds=1.0):
        """What is seen after some more seconds at the present rate."""
        self.time_s += seconds
        self.records += seconds * self.rate
        snapshot = Snapshot(
            time_s=self.time_s,
            operator_states=tuple(
                OperatorState(name, arrived=int(self.records), completed=int(self.records)) for name in "ab"
            ),
            executors=tuple(
                self._executor(pool, number) for pool in "ab" for number in self.plan.pools[pool].executors
            ),
            streams=(StreamState("in", "a", rows=int(self.records)), StreamState("a", "b", rows=int(self.records))),
            nodes=tuple(
                NodeState(name, slots=6, cores=1.0, memory=self.memory, io=self._io(name), cpu=0.1)
                for name in self.nodes
            ),
        )
        return Observation(
            snapshot,
            self.measurer.update(snapshot, self.plan),
            self.plan,
            self.settling,
            capabilities=self.capabilities,
        )

    def obey(self, decisions):
        """Carry decisions out at once."""
        for decision in decisions:
            if isinstance(decision, Place | Scale):
                self.plan = self.plan.after(decision)
            for number, spot in decision.locations.items() if isinstance(decision, Place) else ():
                self.spots[decision.pool, number] = (spot.node, spot.process)
        for pool in "ab":
            for number in self.plan.pools[pool].executors:
                self.spots.setdefault((pool, number), ("n0", 99 + number))

    def nodes_used(self):
        return len({node for node, _ in self.spots.values()})

    def _io(self, node):
        if self.io_s is None:
            return self.io
        here = [pool for (pool, _), (name, _) in self.spots.items() if name == node]
        return min(1.0, fsum(self.rate / len(self.plan.pools[pool].executors) * self.io_s for pool in here))

    def _executor(self, pool, number):
        share = self.records / len(self.plan.pools[pool].executors)
        node, process = self.spots[pool, number]
        return ExecutorState(
            pool,
            number,
            ExecutorPhase.ACTIVE,
            arrived=int(share) if self.executors_count else None,
            completed=int(share) if self.executors_count else None,
            busy_s=share * self.work_s,
            node=node if self.nodes else None,
            process=process,
        )


def run(policy, cluster, seconds):
    """Let the policy act for so many seconds; returns the acts as (time, decisions), and the last decisions."""
    acts, decisions = [], []
    for _ in range(seconds):
        decisions = policy.decide(cluster.observe())
        placed = [decision for decision in decisions if isinstance(decision, Place)]
        if placed:
            acts.append((cluster.time_s, placed))
        cluster.obey(decisions)
    return acts, decisions
