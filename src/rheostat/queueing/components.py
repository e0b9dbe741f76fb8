"""The loops of a directed graph: its strongly connected components (Tarjan), downstream ones first."""

from collections.abc import Iterator, Sequence

Successors = Sequence[Sequence[int]]


def strong_components(successors: Successors) -> list[list[int]]:
    """Each list holds nodes that reach one another; a component comes after all that it leads to.

    Walks with a stack of its own, so that long chains do not exhaust Python's.
    """
    walk = _Walk(successors)
    for node in range(len(successors)):
        if walk.order[node] is None:
            walk.visit(node)
    return walk.components


class _Walk:
    """A depth-first walk that knows, for each node, the earliest open node it leads back to."""

    def __init__(self, successors: Successors) -> None:
        self._successors = successors
        self.order: list[int | None] = [None] * len(successors)
        self.components: list[list[int]] = []
        self._earliest = [0] * len(successors)
        self._open: list[int] = []
        self._is_open = [False] * len(successors)
        self._visited = 0

    def visit(self, root: int) -> None:
        path = [(root, self._enter(root))]
        while path:
            node, rest = path[-1]
            following = self._follow(node, rest)
            if following is not None:
                path.append((following, self._enter(following)))
                continue
            path.pop()
            if path:
                self._lead_back(path[-1][0], self._earliest[node])
            self._close(node)

    def _enter(self, node: int) -> Iterator[int]:
        self.order[node] = self._earliest[node] = self._visited
        self._visited += 1
        self._open.append(node)
        self._is_open[node] = True
        return iter(self._successors[node])

    def _follow(self, node: int, rest: Iterator[int]) -> int | None:
        """The next successor never seen before; those on the way that are still open lead back."""
        for successor in rest:
            seen = self.order[successor]
            if seen is None:
                return successor
            if self._is_open[successor]:
                self._lead_back(node, seen)
        return None

    def _lead_back(self, node: int, earliest: int) -> None:
        self._earliest[node] = min(self._earliest[node], earliest)

    def _close(self, node: int) -> None:
        """A node that leads back to nothing before it closes its component."""
        if self._earliest[node] != self.order[node]:
            return
        component: list[int] = []
        while not component or component[-1] != node:
            member = self._open.pop()
            self._is_open[member] = False
            component.append(member)
        self.components.append(component)
