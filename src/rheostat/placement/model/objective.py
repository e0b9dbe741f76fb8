"""Objective of a partition: little traffic between subgraphs, and about the same inside each (Ra-Stream 5.2)."""

from typing import NamedTuple

import numpy as np

from rheostat.placement.model.task_graph import TaskGraph

EPSILON = 0.70
"""ε of Ra-Stream's Table 4."""


class Quality(NamedTuple):
    """The quality of a partition into k subgraphs.

    `cut_share` is r (eq. 18). `spread` is σ_W (eq. 16) over the total traffic: as printed it has the unit of traffic
    and would outweigh r. `balance` is σ_W over the mean W, 0 when all subgraphs have the same traffic inside.
    """

    cut_share: float
    spread: float
    balance: float

    def objective(self, epsilon: float = EPSILON) -> float:
        """f = ε·r + (1 − ε)·σ (eq. 19); less is better."""
        return epsilon * self.cut_share + (1.0 - epsilon) * self.spread


def quality(graph: TaskGraph, scheme: np.ndarray, subgraphs: int) -> Quality:
    """The quality of a `scheme`, which has the subgraph of each task, out of `subgraphs` (empty ones count)."""
    if graph.total == 0:
        return Quality(0.0, 0.0, 0.0)
    inside = internal_traffic(graph, scheme, subgraphs)
    spread = float(inside.std())
    mean = float(inside.mean())
    cut = max(0.0, graph.total - float(inside.sum()))
    return Quality(cut / graph.total, spread / graph.total, spread / mean if mean > 0 else 0.0)


def internal_traffic(graph: TaskGraph, scheme: np.ndarray, subgraphs: int) -> np.ndarray:
    """W_int of each subgraph: the traffic between the tasks in it."""
    one, other = scheme[graph.ends].T
    inside = np.bincount(one, weights=graph.rates * (one == other), minlength=subgraphs)
    return inside + np.bincount(scheme, weights=graph.own, minlength=subgraphs)
