"""Draft scheme: a scheme under construction, with the node of each task so far and the load of each node."""

from collections.abc import Iterable, Sequence

import numpy as np

from rheostat.errors import InfeasibleError
from rheostat.placement.model.problem import SLACK, PlacementProblem

NOWHERE = -1


class DraftScheme:
    """Tasks on nodes, by position. It keeps count, but does not enforce limits: `put` may overfill a node."""

    def __init__(self, problem: PlacementProblem, scheme: Sequence[int] | np.ndarray | None = None) -> None:
        graph, nodes = problem.graph, range(len(problem.nodes))
        self.problem = problem
        self.where = [NOWHERE] * len(graph)
        self.tasks: list[dict[int, None]] = [{} for _ in nodes]
        self._demands: list[list[float]] = graph.demands.tolist()
        self._sizes: list[int] = graph.sizes.tolist()
        self._per_unit: list[list[float]] = problem.shares_per_unit.tolist()
        self._slots: list[float] = problem.slots.tolist()
        self._used = [[0.0, 0.0, 0.0] for _ in nodes]
        self._count = [0 for _ in nodes]
        weights = problem.limits.weights
        self._weights = (weights.cpu, weights.memory, weights.io)
        for task, node in enumerate([] if scheme is None else map(int, scheme)):
            self.put(task, node)

    @property
    def scheme(self) -> np.ndarray:
        """The node of each task, `NOWHERE` for those not placed yet."""
        return np.array(self.where, dtype=np.int64)

    @property
    def in_use(self) -> list[int]:
        """The nodes with tasks."""
        return [node for node, tasks in enumerate(self.tasks) if tasks]

    def put(self, task: int, node: int) -> None:
        """Move `task` to `node`, from any other node."""
        if self.where[task] != NOWHERE:
            self.remove(task)
        self._book(task, node, 1)
        self.tasks[node][task] = None
        self.where[task] = node

    def remove(self, task: int) -> None:
        """Take `task` off its node."""
        node = self.where[task]
        self._book(task, node, -1)
        del self.tasks[node][task]
        self.where[task] = NOWHERE

    def requirement(self, node: int) -> float:
        """R of the tasks on `node` (Ra-Stream eq. 6 and 10): its weighted utilisation."""
        return self._weighted(node, self._used[node])

    def fullness(self, node: int) -> float:
        """R of `node`, or its busiest resource if that is more: by this it is too empty or not."""
        return max(self.requirement(node), *self.shares(node))

    def need(self, task: int, node: int) -> float:
        """R of one task, if it were on `node`."""
        return self._weighted(node, self._demands[task])

    def shares(self, node: int) -> list[float]:
        """The utilisation of `node` by resource."""
        return [amount * unit for amount, unit in zip(self._used[node], self._per_unit[node], strict=True)]

    def fits(self, tasks: Iterable[int], node: int) -> bool:
        """Whether `tasks` fit on `node` beside those there: R and each resource at most T_over, a slot for each.

        The paper bounds only R, which hides a full processor beside memory that nobody uses. A single task may exceed
        T_over, up to the whole node: it cannot be split further.
        """
        used, count = list(self._used[node]), self._count[node]
        for task in tasks:
            demand = self._demands[task]
            used = [used[0] + demand[0], used[1] + demand[1], used[2] + demand[2]]
            count += self._sizes[task]
        return self._holds(node, used, count)

    def overfull(self, node: int) -> bool:
        return not self._holds(node, self._used[node], self._count[node])

    def traffic(self, task: int) -> dict[int, float]:
        """The traffic of `task` with the tasks on each node."""
        found: dict[int, float] = {}
        for neighbour, rate in self.problem.graph.neighbours[task]:
            node = self.where[neighbour]
            found[node] = found.get(node, 0.0) + rate
        return found

    def _holds(self, node: int, used: Sequence[float], count: int) -> bool:
        per_unit, most = self._per_unit[node], (1.0 if count <= 1 else self.problem.limits.over) + SLACK
        if count > self._slots[node] or any(used[r] * per_unit[r] > most for r in range(3)):
            return False
        return count <= 1 or self._weighted(node, used) <= most

    def _weighted(self, node: int, amounts: Sequence[float]) -> float:
        weights, per_unit = self._weights, self._per_unit[node]
        return sum(weights[r] * amounts[r] * per_unit[r] for r in range(3))

    def _book(self, task: int, node: int, sign: int) -> None:
        used, demand = self._used[node], self._demands[task]
        for resource in range(3):
            used[resource] += sign * demand[resource]
        self._count[node] += sign * self._sizes[task]


def no_room(problem: PlacementProblem, task: int) -> InfeasibleError:
    """The error for a `task` that fits on an empty node, but on none beside the other tasks."""
    return InfeasibleError(
        f"no room is left for task {problem.graph.names[task]!r}: the {len(problem.nodes)} nodes are full to "
        f"{problem.limits.over:.0%} (give more nodes, or raise the limit)"
    )
