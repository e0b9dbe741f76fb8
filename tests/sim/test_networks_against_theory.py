"""Several operators: product-form networks with split, join and loop, and what streams do to numbers."""

import math

import numpy as np
import pytest
from intervals import Interval, batch_means, end_to_end, latency
from plants import exponential, fixed, plant, row

from rheostat.sim.model import OperatorModel, Service
from rheostat.topology import Operator, Source, Topology

RATE = 10.0
SERVERS = {"a": 3, "b": 2, "c": 1, "d": 4}
MEAN_S = {"a": 0.2, "b": 0.2, "c": 0.1, "d": 0.25}
SPLIT = {"to_b": 0.5, "to_c": 0.3}
AGAIN = 0.25


def jackson() -> Topology:
    """a splits to b, to c, or out; b and c join in d; from d a part goes back to a."""
    return Topology(
        "jackson",
        [
            Source("in"),
            Operator("a", inputs=("in", "d.again"), outputs=SPLIT),
            Operator("b", inputs="a.to_b"),
            Operator("c", inputs="a.to_c"),
            Operator("d", inputs=("b", "c"), outputs={"again": AGAIN}),
        ],
    )


def traffic() -> dict[str, float]:
    to_d = sum(SPLIT.values())
    a = RATE / (1 - to_d * AGAIN)
    return {"a": a, "b": a * SPLIT["to_b"], "c": a * SPLIT["to_c"], "d": a * to_d}


def mean_latency(rate: float, mean_s: float, servers: int) -> float:
    """Of M/M/k: Erlang's C over the spare capacity, plus service."""
    load = rate * mean_s
    below = sum(load**n / math.factorial(n) for n in range(servers))
    full = load**servers / math.factorial(servers) / (1 - load / servers)
    return full / (below + full) / (servers / mean_s - rate) + mean_s


def test_a_network_with_split_join_and_loop_has_the_latencies_of_jackson():
    models = {
        name: exponential(MEAN_S[name], executors=SERVERS[name], queues="shared", split="one") for name in SERVERS
    }
    it = plant(jackson(), models, rate=RATE, resolution_s=100.0)
    totals = {name: latency(name) for name in SERVERS} | {"all": end_to_end}
    found = batch_means(it, totals, 1.5e6 / 30 / RATE)
    rates = traffic()
    exact = {name: mean_latency(rates[name], MEAN_S[name], SERVERS[name]) for name in SERVERS}
    exact["all"] = sum(rates[name] * exact[name] for name in SERVERS) / RATE
    for name, value in exact.items():
        assert value in found[name], name
        assert found[name].relative < 0.04, name


def test_a_network_passes_on_what_the_traffic_equations_say():
    models = {name: fixed(0.001, executors=SERVERS[name], split="one") for name in SERVERS}
    it = plant(jackson(), models, rate=1000.0, resolution_s=1.0)
    it.cluster.advance(1000.0)
    for name, rate in traffic().items():
        expected = rate / RATE * row(it, "a").arrived / (traffic()["a"] / RATE)
        assert abs(row(it, name).arrived - expected) < 5 * math.sqrt(2 * expected)


def test_copies_of_a_record_run_in_parallel_and_the_last_one_counts():
    """Two exponential operators without queues: the record's latency is the maximum, 3/2 of the mean."""
    topology = Topology("fork", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="in")])
    it = plant(topology, exponential(1.0, executors=40, queues="shared"), rate=2.0, resolution_s=100.0)
    found = batch_means(it, {"all": end_to_end, "a": latency("a")}, 3e5 / 30 / 2)
    assert 1.5 in found["all"]
    assert 1.0 in found["a"]
    assert found["all"].relative < 0.02


def test_every_reader_of_a_stream_gets_all_of_it():
    topology = Topology("fan", [Source("in"), *(Operator(name, inputs="in") for name in "abc")])
    it = plant(topology, fixed(0.001))
    it.cluster.advance(100.0)
    assert len({int(row(it, name).arrived) for name in "abc"}) == 1
    assert it.cluster.state.world[0].entered == row(it, "a").arrived


def emitted(emission: str, selectivity: float, bulk: int = 1) -> tuple[Interval, np.ndarray]:
    """Children of each of 200,000 records, as an interval of their mean, and the numbers in batches of one record."""
    topology = Topology("emit", [Source("in"), Operator("a", inputs="in", selectivity=selectivity), SINK])
    model = OperatorModel(service=Service(mean=0.001, distribution="fixed"), emission=emission, bulk=bulk)
    it = plant(topology, {"a": model, "b": fixed(1e-9, queues="shared")}, rate=100.0, scv=0)
    counts = []
    for turn in range(3000):
        it.cluster.advance(0.01 * (turn + 1) + 0.005)
        counts.append(int(row(it, "b").arrived))
    children = np.diff(counts)

    def ratio(plant):
        return float(row(plant, "b").arrived), float(row(plant, "a").completed)

    return batch_means(it, {"children": ratio}, 2e5 / 30 / 100)["children"], children


SINK = Operator("b", inputs="a")


@pytest.mark.parametrize(
    ("emission", "selectivity", "bulk", "allowed"),
    [
        ("rounded", 0.3, 1, {0, 1}),
        ("rounded", 2.0, 1, {2}),
        ("rounded", 2.7, 1, {2, 3}),
        ("bulk", 2.5, 5, {0, 5}),
        ("bulk", 7.0, 5, {5, 10}),
    ],
)
def test_rounded_and_bulk_outputs_have_the_selectivity_as_their_mean(emission, selectivity, bulk, allowed):
    mean, children = emitted(emission, selectivity, bulk)
    assert selectivity in mean or mean.half_width == 0 == mean.mean - selectivity
    assert mean.half_width < 0.02 * selectivity
    assert set(children.tolist()) == allowed


def test_poisson_outputs_have_the_selectivity_as_mean_and_variance():
    mean, children = emitted("poisson", 3.0)
    assert 3.0 in mean
    assert mean.relative < 0.01
    assert children.var() == pytest.approx(3.0, rel=0.15)
    assert children.mean() == pytest.approx(3.0, rel=0.05)


def test_what_leaves_a_loop_is_a_geometric_number_of_rounds_later():
    topology = Topology("loop", [Source("in"), Operator("a", inputs=("in", "a"), selectivity=0.5)])
    it = plant(topology, fixed(1.0, executors=60, queues="shared"), rate=2.0, resolution_s=100.0)
    found = batch_means(it, {"all": end_to_end}, 2e5 / 30 / 2)["all"]
    assert 2.0 in found
    assert found.relative < 0.02
