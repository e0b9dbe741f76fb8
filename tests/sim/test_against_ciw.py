"""Queues that no formula covers, against an independent simulator: both runs' intervals must agree.

Ciw is some hundred times slower, so its intervals are the wide ones. Each of its replications leaves out a warm-up.
"""

import math

import ciw
import numpy as np
import pytest
from intervals import batch_means, end_to_end, interval, latency
from plants import one_operator, plant

from rheostat.plan import Plan
from rheostat.sim.model import OperatorModel, Service
from rheostat.topology import Operator, Source, Topology


def gamma_gaps(rate, scv):
    return ciw.dists.Gamma(shape=1 / scv, scale=scv / rate)


def lognormal(mean, scv):
    variance = math.log1p(scv)
    return ciw.dists.Lognormal(math.log(mean) - variance / 2, math.sqrt(variance))


def replications(network, nodes, until, count=40):
    """Intervals of the mean time at each group of nodes, and of the whole time of a customer."""
    found = {name: [] for name in (*nodes, "all")}
    for seed in range(count):
        ciw.seed(seed)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(until)
        records = [r for r in simulation.get_all_records() if r.record_type == "service" and r.arrival_date > until / 5]
        times = np.array([r.exit_date - r.arrival_date for r in records])
        at = np.array([r.node for r in records])
        for name, numbers in nodes.items():
            found[name].append(times[np.isin(at, numbers)].mean())
        found["all"].append(sum(found[name][-1] for name in nodes))
    return {name: interval(values) for name, values in found.items()}


def assert_agreement(ours, theirs, narrow):
    difference = ours.minus(theirs)
    assert 0.0 in difference
    assert difference.half_width < narrow * theirs.mean


@pytest.mark.parametrize(
    ("servers", "load", "arrival_scv", "service_scv"),
    [(3, 0.8, 0.25, 0.5), pytest.param(3, 0.8, 3.0, 2.0, marks=pytest.mark.slow)],
)
def test_gi_g_k_takes_as_long_as_in_ciw(servers, load, arrival_scv, service_scv):
    rate = servers * load
    network = ciw.create_network(
        arrival_distributions=[gamma_gaps(rate, arrival_scv)],
        service_distributions=[lognormal(1.0, service_scv)],
        number_of_servers=[servers],
    )
    wide = arrival_scv > 1
    theirs = replications(network, {"op": [1]}, until=3000 if wide else 600)["op"]
    service = Service(mean=1.0, distribution="lognormal", scv=service_scv)
    model = OperatorModel(service=service, executors=servers, queues="shared")
    it = plant(one_operator(), model, rate=rate, scv=arrival_scv, resolution_s=1000.0)
    ours = batch_means(it, {"op": latency()}, (6e6 if wide else 1.5e6) / 30 / rate)["op"]
    assert ours.relative < 0.05
    assert_agreement(ours, theirs, narrow=0.25 if wide else 0.1)


WEIGHTS = np.array([5.0, 3.0, 2.0, 2.0, 1.0, 1.0]) / 14
OWNERS = {"a": (0, 1, 1, 2, 2, 2), "b": (0, 0, 1, 1, 1, 0)}


def keyed_network(rate):
    """A customer class for each substream: its routing is the way from owner to owner."""
    nodes = {"a": [1, 2, 3], "b": [4, 5]}
    arrivals, routing = {}, {}
    for value, weight in enumerate(WEIGHTS):
        first, second = OWNERS["a"][value], 3 + OWNERS["b"][value]
        gaps = ciw.dists.Exponential(rate * weight)
        arrivals[f"class {value}"] = [gaps if node == first else None for node in range(5)]
        matrix = [[0.0] * 5 for _ in range(5)]
        matrix[first][second] = 1.0
        routing[f"class {value}"] = matrix
    service = [ciw.dists.Uniform(0.0, 2.0)] * 3 + [lognormal(0.5, 0.5)] * 2
    network = ciw.create_network(
        arrival_distributions=arrivals,
        service_distributions=dict.fromkeys(arrivals, service),
        number_of_servers=[1] * 5,
        routing=routing,
    )
    return network, nodes


@pytest.mark.parametrize(("until", "narrow"), [(500, 0.12), pytest.param(3000, 0.05, marks=pytest.mark.slow)])
def test_a_keyed_network_takes_as_long_as_in_ciw(until, narrow):
    rate = 1.8
    network, nodes = keyed_network(rate)
    theirs = replications(network, nodes, until=until)
    topology = Topology(
        "keyed",
        [
            Source("in"),
            Operator("a", inputs="in", key="k", substreams=6),
            Operator("b", inputs="a", key="k", substreams=6),
        ],
    )
    models = {
        "a": OperatorModel(service=Service(mean=1.0, distribution="uniform"), executors=3),
        "b": OperatorModel(service=Service(mean=0.5, distribution="lognormal", scv=0.5), executors=2),
    }
    start = Plan.initial(topology, {"a": 3, "b": 2})
    plan = Plan(0, start.pools, start.pool_of, OWNERS)
    it = plant(topology, models, rate=rate, weights=WEIGHTS, plan=plan, resolution_s=1000.0)
    ours = batch_means(it, {"a": latency("a"), "b": latency("b"), "all": end_to_end}, 1e6 / 30 / rate)
    for name in ("a", "b", "all"):
        assert_agreement(ours[name], theirs[name], narrow)
