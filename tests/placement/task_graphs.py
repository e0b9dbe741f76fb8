"""Random problems of every size for the tests of placement."""

import numpy as np
from hypothesis import strategies as st

from rheostat.placement import Edge, PlacementNode, PlacementProblem, Resources, Task, TaskGraph, UtilisationLimits


def named(number):
    return [f"t{index}" for index in range(number)]


def random_problem(seed, tasks, nodes, *, density=0.4, need=(0.05, 0.35), limits=None, **node):
    """Each pair of tasks has traffic with probability `density`; each resource is needed within `need`."""
    rng = np.random.default_rng(seed)
    names = named(tasks)
    graph = TaskGraph.of(
        [Task(name, Resources(*rng.uniform(*need, 3).tolist())) for name in names],
        [
            Edge(one, other, float(rng.exponential(100)))
            for position, one in enumerate(names)
            for other in names[:position]
            if rng.random() < density
        ],
    )
    return PlacementProblem(
        graph, tuple(PlacementNode(f"n{index}", **node) for index in range(nodes)), limits or UtilisationLimits()
    )


def sparse_graph(seed, tasks, edges_each=5):
    """A large random graph with exponential traffic and demands that differ."""
    rng = np.random.default_rng(seed)
    names = named(tasks)
    pairs = rng.integers(tasks, size=(tasks * edges_each, 2)).tolist()
    rates = rng.exponential(size=len(pairs)).tolist()
    return TaskGraph.of(
        [Task(name, Resources(cpu)) for name, cpu in zip(names, rng.uniform(0.5, 1.5, tasks).tolist(), strict=True)],
        [Edge(names[one], names[other], rate) for (one, other), rate in zip(pairs, rates, strict=True)],
    )


@st.composite
def problems(draw, most_tasks=9, most_nodes=6):
    """Small problems with enough nodes for all, sometimes of different sizes or with few slots."""
    tasks = draw(st.integers(1, most_tasks))
    amount = st.floats(0.0, 0.5)
    demands = draw(st.lists(st.tuples(amount, amount, amount), min_size=tasks, max_size=tasks))
    pair = st.tuples(st.integers(0, tasks - 1), st.integers(0, tasks - 1), st.floats(0, 1000))
    edges = draw(st.lists(pair, max_size=15))
    names = named(tasks)
    graph = TaskGraph.of(
        [Task(name, Resources(*demand)) for name, demand in zip(names, demands, strict=True)],
        [Edge(names[one], names[other], rate) for one, other, rate in edges],
    )
    sizes = draw(st.lists(st.floats(1, 3), min_size=tasks, max_size=max(tasks, most_nodes)))
    room = draw(st.sampled_from([(None, None), (2, 2), (1, 1), (None, 2)]))
    nodes = tuple(PlacementNode(f"n{i}", Resources(size, size, size), *room) for i, size in enumerate(sizes))
    return PlacementProblem(graph, nodes)
