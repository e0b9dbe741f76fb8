"""A policy that decides what it is told, and a loop around it, turn by turn."""

from collections import deque

from rheostat.decision import Scale
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.sla import Budget, Goal
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="w", substreams=8)]
)
GOAL = Goal(TOPOLOGY, budget=Budget(total=12))


class Scripted(Policy):
    """Decides what it is told, one list of decisions after the other, then nothing; remembers what it was shown."""

    def __init__(self, *script, smoothing="none"):
        super().__init__(GOAL, PolicyOptions(smoothing=smoothing))
        self.script = deque(script)
        self.shown = []

    def decide(self, observation):
        self.shown.append(observation)
        decided = self.script.popleft() if self.script else []
        if isinstance(decided, Exception):
            raise decided
        return decided


def scale(executors, pool="count", **more):
    return [Scale(pool=pool, executors=executors, reason="test", **more)]


def controller(plant, policy, *, journal=None, listeners=(), goal=GOAL, plan=None, **options):
    return Controller(plant, policy, goal, journal, LoopOptions("10s", **options), plan=plan, listeners=listeners)


def turns(loop, plant, number):
    """`number` turns, a period apart, of which the first two only measure (rates need two snapshots)."""
    periods = []
    for _ in range(number):
        periods.append(loop.turn())
        plant.clock.wait_until(plant.clock.now() + 10.0)
    return periods


def rulings(periods):
    return [[(v.decision.kind, v.ruling.value) for v in period.verdicts] for period in periods]
