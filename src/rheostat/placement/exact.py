"""The best scheme there is, by branch and bound: for a dozen tasks, to see how good the others are."""

import numpy as np

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement.draft import NOWHERE, Draft
from rheostat.placement.graph import TaskGraph
from rheostat.placement.kernel import Rules, value
from rheostat.placement.objective import EPSILON
from rheostat.placement.problem import Problem

MOST_TASKS = 13
"""12 tasks have 4.2 million partitions, each task more some six times as many, and a bound promises nothing."""


def exact(problem: Problem, epsilon: float = EPSILON) -> np.ndarray:
    """The scheme of least f among those in which every node holds what it gets (σ is a norm: no linear programme)."""
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
    """Task after task to every node that has room; of nodes that are alike, only one that is empty is tried.

    What is cut stays cut: a beginning whose cut alone is no better than the best f so far is not gone on with. So
    chatty tasks come first, each to the node that it talks to most.
    """

    def __init__(self, problem: Problem, epsilon: float) -> None:
        self.best: list[int] | None = None
        self._least = float("inf")
        self._draft = Draft(problem)
        self._inside = [0.0] * len(problem.nodes)
        self._rules = Rules(epsilon, problem.graph.total or 1.0, 0, 0, 0, 0, 0)
        self._order = _chattiest_first(problem.graph)
        self._own: list[float] = problem.graph.own.tolist()
        self._kind = [(node.supply, node.slots) for node in problem.nodes]

    def place(self, depth: int, total: float, squares: float, cut: float = 0.0) -> None:
        """All schemes that begin as the draft does; `total` and `squares` are of the traffic inside nodes."""
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


def _chattiest_first(graph: TaskGraph) -> list[int]:
    traffic = np.zeros(len(graph))
    np.add.at(traffic, graph.ends, graph.rates[:, None])
    order: list[int] = np.argsort(-traffic, kind="stable").tolist()
    return order
