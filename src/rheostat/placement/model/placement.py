"""Placement: the node and process of each task, and how good they are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheostat.placement.model.objective import Quality, quality
from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.model.resources import Resources
from rheostat.placement.model.transfer_cost import Ways, ways


@dataclass(frozen=True, eq=False)
class Placement:
    """A node (by position) and a process (numbered on each node) for every task of a problem."""

    problem: PlacementProblem
    scheme: np.ndarray
    processes: np.ndarray

    @cached_property
    def quality(self) -> Quality:
        """The quality of the partition; unused nodes count as empty subgraphs."""
        return quality(self.problem.graph, self.scheme, len(self.problem.nodes))

    @property
    def cut_share(self) -> float:
        """The share of the traffic that goes between nodes: r of Ra-Stream eq. 18."""
        return self.quality.cut_share

    @property
    def balance(self) -> float:
        """σ_W over the mean W of all nodes: 0 when all have the same traffic inside."""
        return self.quality.balance

    @cached_property
    def ways(self) -> Ways:
        return ways(self.problem.graph, self.scheme, self.processes)

    @property
    def nodes_used(self) -> int:
        return len(np.unique(self.scheme))

    @cached_property
    def utilisation(self) -> dict[str, Resources]:
        """The share of each resource that is used, by node."""
        nodes = self.problem.nodes
        used = np.zeros((len(nodes), 3))
        np.add.at(used, self.scheme, self.problem.graph.demands)
        shares = np.where(used > 0, used * self.problem.shares_per_unit, 0.0)
        return {node.name: Resources(*row) for node, row in zip(nodes, shares.tolist(), strict=True)}

    def weighted(self) -> dict[str, float]:
        """R of each node (Ra-Stream eq. 6)."""
        return {name: self.problem.limits.weights.of(shares) for name, shares in self.utilisation.items()}

    def locations(self) -> dict[str, tuple[str, int]]:
        """Node and process of each task, by their names."""
        rows = zip(self.problem.graph.names, self.scheme.tolist(), self.processes.tolist(), strict=True)
        return {task: (self.problem.nodes[node].name, process) for task, node, process in rows}
