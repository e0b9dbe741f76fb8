"""SP-Ant, which Ra-Stream compares itself with: pairs of much traffic are packed together, an ant colony does the rest.

After Farrokh et al. 2022: bin packing puts tasks of much traffic on the same node until it is full, with no reserve for
a higher rate; an ant colony finds nodes for the others.
"""

import numpy as np

from rheostat.placement.model.draft_scheme import NOWHERE, DraftScheme, no_room
from rheostat.placement.model.placement import Placement
from rheostat.placement.model.problem import SLACK, PlacementProblem
from rheostat.placement.solvers.processes import processes

_ANTS, _ROUNDS = 10, 30
_EVAPORATION = 0.1
_GREED = 2.0
"""The exponent of the heuristic against the pheromone."""

_FULL = 0.55
"""The utilisation of a resource up to which tasks are put on a node. Of 40, 55, 70 and 80 % it is the one with the
lowest latency of word count in the experiments of Ra-Stream."""


def sp_ant(problem: PlacementProblem, seed: int = 0) -> Placement:
    """Pairs above the mean traffic of a pair share a node; the ants place the other tasks."""
    draft = DraftScheme(problem)
    _pack_pairs(draft)
    scheme = _Colony(draft, np.random.default_rng(seed)).search()
    return Placement(problem, scheme, processes(problem, scheme))


def _pack_pairs(draft: DraftScheme) -> None:
    """First fit by falling traffic: a pair goes to the node of one of both, else to the next empty node."""
    graph = draft.problem.graph
    threshold = graph.rates.mean() if len(graph.rates) else 0.0
    for pair in np.argsort(-graph.rates, kind="stable").tolist():
        if graph.rates[pair] <= threshold:
            return
        ends = [task for task in graph.ends[pair].tolist() if draft.where[task] == NOWHERE]
        homes = [draft.where[task] for task in graph.ends[pair].tolist() if draft.where[task] != NOWHERE]
        node = next((home for home in (*homes, *_empty(draft)) if _has_room(draft, home, ends)), None)
        if node is not None:
            for task in ends:
                draft.put(task, node)


def _empty(draft: DraftScheme) -> list[int]:
    return [node for node, tasks in enumerate(draft.tasks) if not tasks]


def _has_room(draft: DraftScheme, node: int, tasks: list[int]) -> bool:
    """Whether `tasks` have slots on `node` and use up no resource: all that SP-Ant checks."""
    problem = draft.problem
    more = problem.graph.demands[tasks].sum(axis=0) * problem.shares_per_unit[node]
    is_full = np.any(np.array(draft.shares(node)) + more > _FULL + SLACK)
    return len(draft.tasks[node]) + len(tasks) <= problem.slots[node] and not is_full


class _Colony:
    """Ants place the remaining tasks, one after the other, by pheromone and heuristic."""

    def __init__(self, draft: DraftScheme, rng: np.random.Generator) -> None:
        problem = draft.problem
        self._problem = problem
        self._rng = rng
        self._packed = draft.scheme
        self._left = np.flatnonzero(self._packed == NOWHERE)
        self._pheromone = np.ones((len(problem.graph), len(problem.nodes)))
        self._needs = problem.graph.demands @ np.median(problem.shares_per_unit, axis=0)
        self._neighbours = problem.graph.neighbours

    def search(self) -> np.ndarray:
        """The best scheme that an ant found."""
        best, least = self._walk(), float("inf")
        for _ in range(_ROUNDS if len(self._left) else 0):
            walks = [self._walk() for _ in range(_ANTS)]
            lengths = [self._length(walk) for walk in walks]
            first = int(np.argmin(lengths))
            if lengths[first] < least:
                best, least = walks[first], lengths[first]
            self._pheromone *= 1 - _EVAPORATION
            self._pheromone[self._left, best[self._left]] += 1.0
        return best

    def _walk(self) -> np.ndarray:
        scheme = self._packed.copy()
        count = np.bincount(scheme[scheme >= 0], minlength=len(self._problem.nodes)).astype(float)
        used = np.zeros_like(self._problem.shares_per_unit)
        for task in np.flatnonzero(scheme >= 0).tolist():
            used[scheme[task]] += self._problem.graph.demands[task] * self._problem.shares_per_unit[scheme[task]]
        for task in self._left.tolist():
            has_slot = count < self._problem.slots
            if not has_slot.any():
                raise no_room(self._problem, task)
            more = self._problem.graph.demands[task] * self._problem.shares_per_unit
            has_room = has_slot & ((used + more).max(axis=1) <= _FULL)
            open_ = has_room if has_room.any() else has_slot
            appeal = self._pheromone[task] * self._sight(task, scheme, count) ** _GREED * open_
            scheme[task] = node = int(self._rng.choice(len(appeal), p=appeal / appeal.sum()))
            count[node] += 1
            used[node] += more[node]
        return scheme

    def _sight(self, task: int, scheme: np.ndarray, count: np.ndarray) -> np.ndarray:
        """The heuristic: prefer nodes with much traffic to the task, and empty ones."""
        traffic = np.zeros(len(count))
        for other, rate in self._neighbours[task]:
            if scheme[other] != NOWHERE:
                traffic[scheme[other]] += rate
        relative: np.ndarray = traffic / max(traffic.max(), 1e-12)
        return (1.0 + relative) / (1.0 + count)

    def _length(self, scheme: np.ndarray) -> float:
        """The cost of a scheme: the share of traffic between nodes, plus the variation of their loads."""
        graph = self._problem.graph
        cut = graph.rates[np.not_equal(*scheme[graph.ends].T)].sum() / (graph.total or 1.0)
        filled = np.bincount(scheme, weights=self._needs, minlength=len(self._problem.nodes))
        return float(cut + filled.std() / (filled.mean() or 1.0))
