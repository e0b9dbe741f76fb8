"""Pareto front: of points of cost and success, those that no other point beats in one without losing in the other."""

from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The positions of the points (cost, success) on the front, the cheapest first. Of equal points all are on it."""
    front: list[int] = []
    for position in sorted(range(len(points)), key=lambda each: (points[each][0], -points[each][1])):
        best = points[front[-1]] if front else None
        if best is None or points[position][1] > best[1] or points[position] == best:
            front.append(position)
    return front
