"""Random draws of the simulator: service times, gaps between arrivals, values, numbers of children."""

import math

import numpy as np

from rheostat.sim.engine import random_numbers
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.random_numbers import ARRIVALS, SERVICE
from rheostat.sim.engine.tables.codes import BULK, EXPONENTIAL, FIXED, LOGNORMAL, NONE, POISSON
from rheostat.sim.engine.tables.state import EngineState


@jit
def service_s(s: EngineState, operator: int, value: int) -> float:
    """One service time of `operator` on an executor of speed 1, for a tuple with `value`."""
    it = at(s.operators, operator)
    if it.service_kind == EXPONENTIAL:
        time = it.service_a * random_numbers.exponential(s, SERVICE)
    elif it.service_kind == FIXED:
        time = it.service_a
    elif it.service_kind == LOGNORMAL:
        time = math.exp(it.service_a + it.service_b * random_numbers.normal(s, SERVICE))
    else:
        time = it.service_a + (it.service_b - it.service_a) * random_numbers.uniform(s, SERVICE)
    time *= it.cost_now
    return time if it.cost_start == NONE else time * at(s.cost, it.cost_start + value).factor


@jit
def batch_factor(s: EngineState, operator: int) -> float:
    """How many times its mean the cost of one batch is."""
    spread = at(s.operators, operator).batch_spread
    if spread == 0.0:
        return 1.0
    return math.exp(spread * random_numbers.normal(s, SERVICE) - spread * spread / 2.0)


@jit
def gap(s: EngineState, source: int) -> float:
    """The operational time to the next arrival: mean 1, with the source's squared coefficient of variation."""
    scv = at(s.sources, source).scv
    if scv == 1.0:
        return random_numbers.exponential(s, ARRIVALS)
    if scv == 0.0:
        return 1.0
    return random_numbers.gamma(s, ARRIVALS, 1.0 / scv) * scv


@jit
def value_from(s: EngineState, stream: int, distribution: int) -> int:
    """A value by Walker's alias method: one uniform number for a table of any size."""
    it = at(s.values, distribution)
    u = random_numbers.uniform(s, stream) * it.length
    index = min(int(u), it.length - 1)
    cell = at(s.alias, it.start + index)
    return index if u - index < cell.probability else cell.other


@jit
def children(s: EngineState, edge: int) -> int:
    """The number of records that one record yields on the stream `edge`; the mean is the selectivity."""
    it = at(s.edges, edge)
    if it.emission == POISSON:
        return min(random_numbers.poisson(s, SERVICE, it.selectivity), it.most)
    bulk = it.bulk if it.emission == BULK else 1
    mean = it.selectivity / bulk
    whole = int(mean)
    if mean - whole > 1e-12 and random_numbers.uniform(s, SERVICE) < mean - whole:
        whole += 1
    return whole * bulk


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's table for `weights`: the probability of staying in a cell, and the other value of the cell."""
    size = len(weights)
    scaled = np.asarray(weights, dtype=float) * size / float(np.sum(weights))
    probability, other = np.ones(size), np.arange(size)
    small = [i for i in range(size) if scaled[i] < 1.0]
    large = [i for i in range(size) if scaled[i] >= 1.0]
    while small and large:
        less, more = small.pop(), large[-1]
        probability[less], other[less] = scaled[less], more
        scaled[more] -= 1.0 - scaled[less]
        if scaled[more] < 1.0:
            small.append(large.pop())
    return probability, other
