"""Without numba the simulator runs as plain Python: slowly, and with the same results."""

import json
import subprocess
import sys

import pytest

RUN = """
import json, logging, sys
logging.disable()
if sys.argv[1] == "plain":
    sys.modules["numba"] = None
import numpy as np
import warnings
warnings.simplefilter("ignore", RuntimeWarning)  # whole numbers wrap round on purpose
from rheostat.decision import Move, Transfer, Scale
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.engine.jit import COMPILED
from rheostat.sim.model import Batches, ClusterModel, OperatorModel, Osg, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant
from rheostat.topology import Operator, Source, Topology

topology = Topology("all", [
    Source("in"),
    Operator("a", inputs="in", selectivity=1.4),
    Operator("b", inputs="a", key="k", substreams=6),
    Operator("c", inputs=("b", "c"), selectivity=0.3),
    Operator("d", inputs="c"),
])
AWARE = {"grouping": "load-aware", "interval": 1}
OSG = {"grouping": "osg", "osg": Osg(window=8, tolerance=1)}
operators = {
    "a": OperatorModel(service=Service(mean=0.01), executors=2, queues="shared"),
    "b": OperatorModel(service=Service(mean=0.02, distribution="lognormal"), executors=2),
    "c": OperatorModel(service=Service(mean=0.01, distribution="uniform"), executors=2, **OSG),
    "d": OperatorModel(service=Service(mean=0.001), queues="batches", batches=Batches(fixed=0.2), **AWARE),
}
source = SourceModel(Step([(0, 30.0), (8, 60.0)]), scv=2.0, weights=1.0 / np.arange(1, 20))
cluster = ClusterModel(start=1, move_delay=0.2, node_hop=0.01, process_hop=0.01)
plant = SimPlant(SimModel(topology, {"in": source}, operators, cluster=cluster), np.random.default_rng(3))
plan = Plan.initial(topology, {"a": 2, "b": 2, "c": 2, "d": 1})
plant.cluster.advance(3.0)
plan = plan.after(Scale(pool="b", reason="more", executors=3))
for _ in range(6):
    plant.apply(plan)
    plant.cluster.advance(plant.cluster.now_s + 0.5)
plant.cluster.failures.fail(plant.cluster.registry.members["b", 0], ("b",), 1.0)
plant.cluster.failures.fail(plant.cluster.registry.members["d", 0], ("d",), 0.5)
plant.cluster.advance(15.0)
world = plant.cluster.state.world[0]
print(json.dumps({
    "compiled": COMPILED,
    "counts": [[int(o.arrived), int(o.completed), int(o.lost)] for o in plant.cluster.state.operators],
    "world": [int(world.entered), int(world.left), int(world.disorder), int(world.overlap)],
    "latency": float(world.latency_sum),
    "epochs": int(plant.cluster.state.schedulers.epoch[0]),
}))
"""


def run(how):
    done = subprocess.run([sys.executable, "-c", RUN, how], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_plain_python_gives_the_results_of_compiled_code():
    plain, compiled = run("plain"), run("compiled")
    assert (plain["compiled"], compiled["compiled"]) == (False, True)
    assert plain["counts"] == compiled["counts"]
    assert plain["world"] == compiled["world"]
    assert plain["latency"] == pytest.approx(compiled["latency"])
    assert plain["world"][0] > 500
    assert plain["epochs"] == compiled["epochs"] > 1
