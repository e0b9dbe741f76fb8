"""Branch and bound: the optimal scheme for up to a dozen tasks, as a yardstick for the other algorithms."""

import numpy as np

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement.model.draft_scheme import NOWHERE, DraftScheme
from rheostat.placement.model.objective import EPSILON
from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.model.task_graph import TaskGraph
from rheostat.placement.solvers.annealing_kernel import Rules, value

MOST_TASKS = 13
"""12 tasks have 4.2 million partitions, each further task about six times as many; bounding may not help."""


def exact(problem: PlacementProblem, epsilon: float = EPSILON) -> np.ndarray:
    """The feasible scheme of least f (σ is a norm, so this is not a linear programme)."""
    if len(problem.graph) > MOST_TASKS:
        raise ConfigError(f"{len(problem.graph)} tasks are too many for the exact optimum: at most {MOST_TASKS}")
    search = _Enumeration(problem, epsilon)
    search.place(0, 0.0, 0.0)
    if search.best is None:
        raise InfeasibleError(
            f"the {len(problem.graph)} tasks do not fit on {len(problem.nodes)} nodes to {problem.limits.over:.0%}: "
            "give more nodes, or raise the limit"
        )
    return np.array(search.best, dtype=np.int64)


class _Enumeration:
    """Tries every node with room for each task; of empty nodes that are alike, only one.

    A cut never shrinks: a partial scheme whose cut alone is no better than the best f so far is dropped. So tasks with
    much traffic come first, each to the node with which it has most.
    """

    def __init__(self, problem: PlacementProblem, epsilon: float) -> None:
        self.best: list[int] | None = None
        self._least = float("inf")
        self._draft = DraftScheme(problem)
        self._inside = [0.0] * len(problem.nodes)
        self._rules = Rules(epsilon, problem.graph.total or 1.0, 0, 0, 0, 0, 0)
        self._order = _by_falling_traffic(problem.graph)
        self._own: list[float] = problem.graph.own.tolist()
        self._kind = [(node.supply, node.slots) for node in problem.nodes]

    def place(self, depth: int, total: float, squares: float, cut: float = 0.0) -> None:
        """Try all completions of the draft; `total` and `squares` are of the traffic inside nodes."""
        if self._rules.epsilon * cut / self._rules.total >= self._least:
            return
        if depth == len(self._order):
            self._judge(total, squares)
            return
        task = self._order[depth]
        traffic = self._draft.traffic(task)
        met = sum(rate for node, rate in traffic.items() if node != NOWHERE)
        for node in sorted(self._candidates(), key=lambda node: -traffic.get(node, 0.0)):
            if self._draft.fits([task], node):
                here = traffic.get(node, 0.0)
                joins = self._own[task] + here
                more = joins * (joins + 2.0 * self._inside[node])
                self._draft.put(task, node)
                self._inside[node] += joins
                self.place(depth + 1, total + joins, squares + more, cut + met - here)
                self._inside[node] -= joins
                self._draft.remove(task)

    def _candidates(self) -> list[int]:
        seen: set[object] = set()
        found = []
        for node, tasks in enumerate(self._draft.tasks):
            if not tasks and self._kind[node] in seen:
                continue
            if not tasks:
                seen.add(self._kind[node])
            found.append(node)
        return found

    def _judge(self, total: float, squares: float) -> None:
        found = value(self._rules, len(self._inside), total, squares)
        if found < self._least:
            self._least, self.best = found, list(self._draft.where)


def _by_falling_traffic(graph: TaskGraph) -> list[int]:
    traffic = np.zeros(len(graph))
    np.add.at(traffic, graph.ends, graph.rates[:, None])
    order: list[int] = np.argsort(-traffic, kind="stable").tolist()
    return order
