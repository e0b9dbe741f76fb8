"""Harnesses of plants that need no Spark: the fake one, and simulators with different queues and costs of change."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from plant_harness import PlantHarness

from rheostat.load import Constant
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.sim.model import Batches, ClusterModel, NodeModel, OperatorModel, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

WORDS = Topology(
    "words",
    [
        Source("lines"),
        Operator("split", inputs="lines", selectivity=2),
        Operator("count", inputs="split", key="word", substreams=4),
    ],
)
COUNT = PoolName("count")


class FakeHarness(PlantHarness):
    """The fake plant knows no limits but those that it is told."""

    knows_everything = True
    pool = COUNT

    def __init__(self) -> None:
        self.home = Plan.initial(WORDS)
        self.plant: FakePlant = FakePlant(WORDS, arrival_rate=60.0, service_rate=100.0, settle_s=1.0)

    @contextmanager
    def impossible(self) -> Iterator[Plan]:
        plan = self.more
        self.plant.obstacles = (f"no room for executor 1 of {COUNT!r}",)
        yield plan
        self.plant.obstacles = ()


class SimHarness(PlantHarness):
    """A cluster of two nodes with three slots each."""

    knows_everything = True
    pool = COUNT

    def __init__(self, queues: OperatorModel, **cluster: object) -> None:
        nodes = tuple(NodeModel(name=name, slots=3) for name in ("left", "right"))
        model = SimModel(
            WORDS,
            {"lines": SourceModel(Constant(60.0), weights=np.ones(12))},
            dict.fromkeys(WORDS.operators, queues),
            cluster=ClusterModel(nodes=nodes, start="1s", stop="300ms", **cluster),
        )
        self.home = Plan.initial(WORDS, standby={COUNT: 1})
        self.plant: SimPlant = SimPlant(model, np.random.default_rng(1), self.home)

    @contextmanager
    def impossible(self) -> Iterator[Plan]:
        yield self.scaled(20)


def sim_with_queues() -> SimHarness:
    return SimHarness(OperatorModel(service=Service(mean="4ms")), pause="executors")


def sim_with_batches() -> SimHarness:
    batches = Batches(fixed="50ms", per_task="5ms")
    return SimHarness(OperatorModel(service=Service(mean="4ms"), queues="batches", batches=batches))


def sim_that_restarts() -> SimHarness:
    """As Storm does: every change stops the topology for a while."""
    return SimHarness(OperatorModel(service=Service(mean="4ms")), restart="500ms", activate="200ms")
