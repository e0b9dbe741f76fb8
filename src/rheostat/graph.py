"""Graphs: reachable nodes, strong components and loop gain of directed graphs."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

Edges = Mapping[str, Sequence[str]]
"""Successors by node; every node is a key."""


Node = TypeVar("Node", bound=Hashable)


def reachable(starts: Iterable[str], edges: Edges) -> set[str]:
    """Every node on a path from one of `starts`, the starts included."""
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(edges[node])
    return seen


def strong_components(edges: Mapping[Node, Sequence[Node]]) -> Iterator[list[Node]]:
    """Strongly connected components in reverse topological order (Tarjan), without recursion."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    for root in edges:
        if root in index:
            continue
        path = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while path:
            node, successors = path[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    path.append((successor, iter(edges[successor])))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    yield _unwind(stack, on_stack, node)


def _unwind(stack: list[Node], on_stack: set[Node], root: Node) -> list[Node]:
    component: list[Node] = []
    while True:
        node = stack.pop()
        on_stack.discard(node)
        component.append(node)
        if node == root:
            return component[::-1]


def spectral_radius(matrix: np.ndarray) -> float:
    """The largest absolute eigenvalue: how much one turn through the graph amplifies in the long run."""
    return float(np.max(np.abs(np.linalg.eigvals(matrix)), initial=0.0))
