"""Integer programming: the least cut within the capacities, exact for some dozens of tasks."""

from typing import Any

import numpy as np

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement.model.problem import PlacementProblem

MOST_VARIABLES = 20_000
"""Beyond this a solution takes longer than minutes."""


def least_cut(problem: PlacementProblem) -> np.ndarray:
    """The feasible scheme with the least traffic between nodes.

    x[v, j] is 1 if task v is on node j; z[e] ≥ |x[u, j] − x[v, j]| is 1 if pair e = (u, v) is cut.
    """
    tasks, nodes, pairs = len(problem.graph), len(problem.nodes), len(problem.graph.rates)
    if tasks * nodes + pairs * (nodes + 1) > MOST_VARIABLES:
        raise ConfigError(
            f"{tasks} tasks, {pairs} edges and {nodes} nodes are too many for integer programming: "
            "use 'ra-stream' or 'metis'"
        )
    try:
        from scipy.optimize import Bounds, milp
    except ImportError:
        raise ConfigError("algorithm 'milp' needs scipy: pip install 'rheostat[place]'") from None
    found = milp(
        np.concatenate([np.zeros(tasks * nodes), problem.graph.rates]),
        integrality=np.concatenate([np.ones(tasks * nodes), np.zeros(pairs)]),
        bounds=Bounds(0, 1),
        constraints=[_one_place(problem), _capacity(problem), _cut(problem)],
    )
    if found.x is None:
        raise InfeasibleError(
            f"the {tasks} tasks do not fit on {nodes} nodes to {problem.limits.over:.0%}: give more nodes, or raise "
            "the limit"
        )
    scheme: np.ndarray = found.x[: tasks * nodes].reshape(tasks, nodes).argmax(axis=1)
    return scheme


def _one_place(problem: PlacementProblem) -> Any:
    from scipy.optimize import LinearConstraint
    from scipy.sparse import hstack, identity, kron

    tasks, nodes, pairs = len(problem.graph), len(problem.nodes), len(problem.graph.rates)
    places = kron(identity(tasks), np.ones((1, nodes)))
    return LinearConstraint(hstack([places, _zeros(tasks, pairs)]).tocsc(), 1, 1)


def _capacity(problem: PlacementProblem) -> Any:
    """R and each resource at most T_over, slots: a row for each of them and each node."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array, hstack, vstack

    tasks, nodes, pairs = len(problem.graph), len(problem.nodes), len(problem.graph.rates)
    rows, most = [], []
    for node in range(nodes):
        for amounts, limit in _limits(problem, node):
            columns = np.arange(tasks) * nodes + node
            rows.append(csr_array((amounts, (np.zeros(tasks, dtype=int), columns)), shape=(1, tasks * nodes)))
            most.append(limit)
    return LinearConstraint(hstack([vstack(rows), _zeros(len(rows), pairs)]).tocsc(), -np.inf, most)


def _limits(problem: PlacementProblem, node: int) -> list[tuple[np.ndarray, float]]:
    """Amounts per task and their limit on `node`. A task above T_over leaves no room for another."""
    limits, shares = problem.limits, problem.graph.demands * problem.shares_per_unit[node]
    weighted = shares @ [limits.weights.cpu, limits.weights.memory, limits.weights.io]
    amounts = [(np.minimum(column, limits.over), limits.over) for column in (*shares.T, weighted)]
    slots = problem.nodes[node].slots
    return [*amounts, (problem.graph.sizes.astype(float), slots)] if np.isfinite(slots) else amounts


def _cut(problem: PlacementProblem) -> Any:
    """z[e] ≥ x[u, j] − x[v, j] for every pair and node; the other sign follows, since every task is on one node."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array, hstack, identity, kron

    graph, nodes = problem.graph, len(problem.nodes)
    pairs = len(graph.rates)
    rows = np.repeat(np.arange(pairs), 2)
    signs = np.tile([1.0, -1.0], pairs)
    ends = csr_array((signs, (rows, graph.ends.ravel())), shape=(pairs, len(graph)))
    differences = kron(ends, identity(nodes))
    flags = kron(identity(pairs), -np.ones((nodes, 1)))
    return LinearConstraint(hstack([differences, flags]).tocsc(), -np.inf, 0)


def _zeros(rows: int, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((rows, columns))
