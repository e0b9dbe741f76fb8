"""Placement problem: the tasks to place, the nodes for them, and the limits."""

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement.model.resources import Resources, ResourceWeights
from rheostat.placement.model.task_graph import TaskGraph

SLACK = 1e-9
"""Tolerance for rounding in comparisons of sums of shares."""


class PlacementNode(msgspec.Struct, frozen=True):
    """A machine: its supply, and how many processes and tasks in each it holds (None: no limit).

    In the paper's cluster a node has 2 processes (workers) of 2 tasks each.
    """

    name: str
    supply: Resources = Resources(1.0, 1.0, 1.0)
    processes: int | None = None
    process_tasks: int | None = None

    def __post_init__(self) -> None:
        for what, amount in zip(Resources._fields, self.supply, strict=True):
            if not (math.isfinite(amount) and amount >= 0):
                raise ConfigError(f"node {self.name!r}: {what} {amount!r} must be a number >= 0")
        for what, number in (("processes", self.processes), ("process_tasks", self.process_tasks)):
            if number is not None and number < 1:
                raise ConfigError(f"node {self.name!r}: {what} {number!r} must be at least 1")

    @property
    def slots(self) -> float:
        """The most tasks that it holds."""
        if self.processes is None or self.process_tasks is None:
            return math.inf
        return self.processes * self.process_tasks


class UtilisationLimits(msgspec.Struct, frozen=True):
    """Limits of a node's weighted utilisation R, `under` and `over` (Ra-Stream eq. 21).

    `weights` are α and β of R (eq. 6), `surplus` γ and δ of the choice of a node (eq. 15).
    """

    under: float = 0.60
    over: float = 0.75
    weights: ResourceWeights = ResourceWeights()
    surplus: ResourceWeights = ResourceWeights()

    def __post_init__(self) -> None:
        if not 0 <= self.under < self.over <= 1:
            raise ConfigError(f"limits under {self.under!r} and over {self.over!r} must be 0 <= under < over <= 1")


@dataclass(frozen=True, eq=False)
class PlacementProblem:
    """A task graph, the nodes for it, and the limits. Refused if a task alone does not fit on any node.

    A scheme for it is an array with the position of a node for each task.
    """

    graph: TaskGraph
    nodes: tuple[PlacementNode, ...]
    limits: UtilisationLimits = field(default_factory=UtilisationLimits)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ConfigError("there are no nodes to place tasks on: give at least one")
        name, number = Counter(node.name for node in self.nodes).most_common(1)[0]
        if number > 1:
            raise ConfigError(f"two nodes are called {name!r}: rename one")
        self._check_each_task_fits_somewhere()

    @cached_property
    def shares_per_unit(self) -> np.ndarray:
        """By node and resource, the share of the supply that one unit of demand takes; huge without supply."""
        supply = np.array([node.supply for node in self.nodes], dtype=float)
        units: np.ndarray = np.divide(1.0, supply, out=np.full_like(supply, 1e150), where=supply > 0)
        return units

    @cached_property
    def slots(self) -> np.ndarray:
        return np.array([node.slots for node in self.nodes])

    @cached_property
    def alike(self) -> bool:
        """Whether all nodes are equal except for their names."""
        first = self.nodes[0]
        return all(msgspec.structs.replace(node, name=first.name) == first for node in self.nodes)

    def on(self, positions: list[int]) -> "PlacementProblem":
        """The same tasks on some of the nodes only."""
        return PlacementProblem(self.graph, tuple(self.nodes[position] for position in positions), self.limits)

    def _check_each_task_fits_somewhere(self) -> None:
        fits = np.zeros(len(self.graph), dtype=bool)
        for shares_per_unit in np.unique(self.shares_per_unit, axis=0):
            fits |= np.all(self.graph.demands * shares_per_unit <= 1 + SLACK, axis=1)
        if not fits.all():
            task = int(np.argmin(fits))
            raise InfeasibleError(
                f"no node can hold task {self.graph.names[task]!r}: it needs {Resources(*self.graph.demands[task])}; "
                f"{_largest(self.nodes)}"
            )


def _largest(nodes: tuple[PlacementNode, ...]) -> str:
    largest = max(nodes, key=lambda node: node.supply)
    return f"the largest node, {largest.name!r}, has {largest.supply}"
