"""METIS by `pymetis`: a fast partition into parts of equal demand with a small cut."""

import numpy as np

from rheostat.errors import ConfigError
from rheostat.placement.model.problem import PlacementProblem

_STEPS = 10_000
"""METIS takes whole numbers: the mean demand and the mean traffic are scaled to this."""


def metis(problem: PlacementProblem, seed: int = 0) -> np.ndarray:
    """A part for every node, in proportion to its supply. METIS does not check whether a part fits on its node."""
    try:
        import pymetis
    except ImportError:
        raise ConfigError("algorithm 'metis' needs pymetis: pip install 'rheostat[place]'") from None
    graph, nodes = problem.graph, len(problem.nodes)
    if nodes == 1 or len(graph) == 1:
        return np.zeros(len(graph), dtype=np.int64)
    adjacency = graph.adjacency
    size = 1.0 / np.median(problem.shares_per_unit, axis=1)
    _, parts = pymetis.part_graph(
        nodes,
        adjacency=pymetis.CSRAdjacency(adjacency.start, adjacency.neighbour),
        eweights=_whole(adjacency.rate),
        vweights=_whole(demand_weights(problem)),
        tpwgts=None if problem.alike else (size / size.sum()).tolist(),
        options=pymetis.Options(seed=seed),
    )
    return np.array(parts, dtype=np.int64)


def demand_weights(problem: PlacementProblem) -> np.ndarray:
    """R of each task on a typical node; equal ones if no demands are given."""
    weights = problem.limits.weights
    needs = problem.graph.demands * np.median(problem.shares_per_unit, axis=0)
    needs = needs @ np.array([weights.cpu, weights.memory, weights.io])
    return needs if needs.any() else np.ones(len(needs))


def _whole(amounts: np.ndarray) -> list[int]:
    scale = _STEPS / float(amounts.mean()) if len(amounts) and amounts.any() else 1.0
    whole: list[int] = np.maximum(1, np.rint(amounts * scale)).astype(np.int64).tolist()
    return whole
