"""A small run on a fake plant, recorded or still going on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from rheostat.clock import WallClock
from rheostat.decision import Scale
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import PartitionState, Snapshot, StreamState
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology
from rheostat.web import Dashboard

SCRIPT = "<img src=x onerror=alert(1)>"
"""An operator's name that must never become markup."""

LOOP = {"again": 0.1, "out": 1.0}
TOPOLOGY = Topology(
    "clicks",
    [
        Source("in"),
        Operator("parse", inputs="in", outputs={"good": 0.9, "bad": 0.1}),
        Operator("count", inputs=["parse.good", "count.again"], key="user", substreams=8, outputs=LOOP),
        Operator(SCRIPT, inputs=["parse.bad", "count.out"]),
    ],
)  # fmt: skip
SLAS = (SLA("1s", "5s"), SLA("1s", "5s", operator="count"), SLA("2s", "5s", path=["parse", "count"]))
GOAL = Goal(TOPOLOGY, SLAS, Budget(total=9, most={"parse": 4}))
PLAN = Plan.initial(TOPOLOGY, {"parse": 2, "count": 2, SCRIPT: 1}, standby={"parse": 1})


class Restless(Policy):
    """Scales `parse` up and down in every turn."""

    def decide(self, observation):
        size = 1 + observation.plan.size("parse") % 3
        return [Scale(pool="parse", executors=size, reason=f"restless: scale {size}")]


class TopicPlant(FakePlant):
    """`parse` reads the partitions of a topic; the first has more records than the second."""

    def observe(self) -> Snapshot:
        seen = super().observe()
        parse = seen.operators["parse"]
        shares = [(0, 0.75), (1, 0.25)]
        partitions = tuple(
            PartitionState("clicks-in", number, int(share * parse.arrived), int(share * parse.queued))
            for number, share in shares
        )
        stream = StreamState("in", "parse", rows=parse.arrived, partitions=partitions)
        others = [each for each in seen.streams if each.name != "in"]
        return structs.replace(seen, streams=(stream, *others))


def record(path: Path) -> None:
    """The journal of a run of a minute with a load that rises beyond the budget."""
    plant = TopicPlant(TOPOLOGY, arrival_rate=lambda time_s: 50.0 + 10.0 * time_s, plan=PLAN, settle_s=2.0)
    with Journal(path) as journal:
        policy = make_policy("threshold", GOAL)
        Controller(plant, policy, GOAL, journal, LoopOptions("1s", cooldown="3s"), plan=PLAN).run(for_=60)


class LiveRun:
    """A controller that turns in a thread, with its page."""

    def __init__(self, path: Path, address: str = "127.0.0.1:0") -> None:
        self.journal = Journal(path)
        self.dashboard = Dashboard(self.journal, address)
        plant = FakePlant(TOPOLOGY, arrival_rate=150.0, plan=PLAN, clock=WallClock())
        self.controller = Controller(
            plant, Restless(GOAL), GOAL, self.journal, LoopOptions(0.1), plan=PLAN, listeners=[self.dashboard]
        )
        self.dashboard.steer(self.controller)
        self._thread = threading.Thread(target=self.controller.run)
        self._thread.start()

    def stop(self) -> None:
        self.controller.stop()
        self._thread.join()

    def close(self) -> None:
        self.stop()
        self.dashboard.close()
        self.journal.close()


@contextmanager
def live_run(path: Path, address: str = "127.0.0.1:0") -> Iterator[LiveRun]:
    run = LiveRun(path, address)
    try:
        yield run
    finally:
        run.close()
