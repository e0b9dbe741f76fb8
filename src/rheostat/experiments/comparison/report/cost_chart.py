"""Cost chart: success against cost in one scenario, with the Pareto front and the references."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from rheostat.experiments.clairvoyant.schedule import TARGET
from rheostat.experiments.comparison.figures import Entry
from rheostat.experiments.comparison.references import (
    BEST_SCHEDULE,
    CHEAPEST_FIXED,
    LOWER_BOUND,
    PRESENT_KNOWER,
    Reference,
)
from rheostat.experiments.comparison.report import svg
from rheostat.experiments.comparison.report.svg import AxisScale, Point

_WIDTH, _HEIGHT = 960.0, 400.0
_X, _Y = (56.0, 930.0), (350.0, 24.0)
_SAME = 5.0
"""Points so near to each other share a label."""

_LETTER = 6.1
"""Width of a letter."""

_SHIFTS = (-7.0, 9.0, -20.0, 22.0, -33.0, 35.0)
"""Of a label against its point: first just above the lines that meet there."""

_LOWEST_SUCCESS_STEP = 0.1
_ROOM = 0.06


def cost_chart(
    scenario: str,
    entries: Sequence[Entry],
    references: Mapping[str, Reference],
    cost_reference: str | None,
    cost_of_reference: float | None,
) -> str:
    """A picture; costs are ratios if there is something that they are ratios to."""
    if not entries:
        return ""
    unit = cost_of_reference or 1.0
    points = [(point.executor_seconds / unit, point.success_rate) for r in references.values() for point in r.points]
    costs = [*(entry.cost / unit for entry in entries), *(cost for cost, _ in points)]
    rates = [*(entry.success for entry in entries), *(success for _, success in points if success is not None)]
    room = _ROOM * (max(costs) - min(costs)) or 0.1 * max(costs)
    lowest = int(min(rates) / _LOWEST_SUCCESS_STEP) * _LOWEST_SUCCESS_STEP
    chart = _CostChart(
        AxisScale(max(0.0, min(costs) - room), max(costs) + room, *_X), AxisScale(min(lowest, 0.9), 1.0, *_Y), unit
    )
    title = f"executor-seconds over those of {cost_reference}" if cost_of_reference else "executor-seconds"
    for cost, success in [*((entry.cost / unit, entry.success) for entry in entries), *points]:
        chart.avoid(cost * unit, success or 0.0)
    content = [*chart.axes(title), *chart.references(references), *chart.entries(entries)]
    return svg.drawing(_WIDTH, _HEIGHT, f"{scenario}: success against cost", content)


@dataclass(frozen=True)
class _CostChart:
    x: AxisScale
    y: AxisScale
    unit: float
    labels: "_Labels" = field(default_factory=lambda: _Labels())

    def avoid(self, executor_seconds: float, success_rate: float) -> None:
        """Put no label where this point is."""
        self.labels.avoid(self._place(executor_seconds, success_rate))

    def axes(self, title: str) -> Iterator[str]:
        for value in self.x.ticks(8):
            yield svg.line(self.x(value), _Y[0], self.x(value), _Y[1], "grid")
            yield svg.text(self.x(value), _Y[0] + 16, f"{value:,.4g}", class_="tick", text_anchor="middle")
        for value in self.y.ticks(6):
            yield svg.line(_X[0], self.y(value), _X[1], self.y(value), "grid")
            yield svg.text(_X[0] - 6, self.y(value) + 4, f"{100 * value:.0f} %", class_="tick", text_anchor="end")
        yield svg.line(_X[0], _Y[0], _X[1], _Y[0], "axis")
        yield svg.text((_X[0] + _X[1]) / 2, _Y[0] + 36, title, class_="label", text_anchor="middle")
        yield svg.text(_X[0], _Y[1] - 10, "windows that met the SLA", class_="label")
        yield svg.line(_X[0], self.y(TARGET), _X[1], self.y(TARGET), "sla")

    def references(self, references: Mapping[str, Reference]) -> Iterator[str]:
        if LOWER_BOUND in references and (bound := references[LOWER_BOUND].best) is not None:
            x = self.x(bound.executor_seconds / self.unit)
            yield svg.line(x, _Y[0], x, _Y[1], "bound")
            yield from self._labelled((x - 5, _Y[0] - 6), "lower bound", "reference-label")
        if PRESENT_KNOWER in references:
            places = [self._place(p.executor_seconds, p.success_rate) for p in references[PRESENT_KNOWER].points]
            yield svg.element("path", d=svg.path_through(sorted(places)), class_="frontier")
            yield from self._labelled(max(places), "present knower", "reference-label")
        for kind, half in ((BEST_SCHEDULE, 6.0), (CHEAPEST_FIXED, 4.5)):
            if kind in references and (best := references[kind].best) is not None:
                x, y = self._place(best.executor_seconds, best.success_rate)
                corners = [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
                yield svg.element("path", d=svg.path_through(corners) + "Z", class_="reference")
                yield from self._labelled((x, y), kind.replace("_", " "), "reference-label")

    def entries(self, entries: Sequence[Entry]) -> Iterator[str]:
        front = sorted(self._place(entry.cost, entry.success) for entry in entries if entry.on_front)
        yield svg.element("path", d=svg.path_through(svg.steps_through(front)), class_="front")
        groups: dict[tuple[int, int], list[Entry]] = {}
        for entry in entries:
            x, y = self._place(entry.cost, entry.success)
            groups.setdefault((round(x / _SAME), round(y / _SAME)), []).append(entry)
            yield self._mark(entry, x, y)
        several = len({entry.setting for entry in entries}) > 1
        for same in groups.values():
            place = self._place(same[0].cost, same[0].success)
            names = {_name(entry, several): None for entry in same}
            yield from self._labelled(place, ", ".join(names), "name" if same[0].on_front else "label")

    def _mark(self, entry: Entry, x: float, y: float) -> str:
        class_ = "on-front" if entry.on_front else "behind"
        title = svg.element("title", escape(f"{entry.policy} ({entry.setting}): {100 * entry.success:.1f} %"))
        if entry.setting == "tuned":
            corners = svg.path_through([(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)])
            return svg.element("path", title, d=f"{corners}Z", class_=class_)
        return svg.element("circle", title, cx=x, cy=y, r=4.5, class_=class_)

    def _labelled(self, place: Point, label: str, class_: str) -> Iterator[str]:
        x, y, anchor = self.labels.place(place, label)
        yield svg.text(x, y, label, class_=class_, text_anchor=anchor)

    def _place(self, executor_seconds: float, success_rate: float | None) -> Point:
        return self.x(executor_seconds / self.unit), self.y(success_rate or 0.0)


class _Labels:
    """Finds room for labels beside their points."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float, float]] = []

    def avoid(self, point: Point) -> None:
        self._taken.append((point[0] - 5, point[1] - 5, point[0] + 5, point[1] + 5))

    def place(self, point: Point, label: str) -> tuple[float, float, str]:
        """Where the text goes and how it is anchored: the first place without overlap, or else to the right."""
        width = _LETTER * len(label)
        places = [
            (point[0] + side * 9, point[1] + 4 + shift, "start" if side > 0 else "end")
            for shift in _SHIFTS
            for side in (1, -1)
        ]
        boxes = [
            (x if a == "start" else x - width, y - 10, x + width if a == "start" else x, y + 3) for x, y, a in places
        ]
        for place, box in zip(places, boxes, strict=True):
            if self._is_free(box):
                self._taken.append(box)
                return place
        self._taken.append(boxes[0])
        return places[0]

    def _is_free(self, box: tuple[float, float, float, float]) -> bool:
        if box[0] < _X[0] or box[2] > _WIDTH or box[1] < 0 or box[3] > _Y[0] + 4:
            return False
        return all(
            box[2] <= left or box[0] >= right or box[3] <= top or box[1] >= bottom
            for left, top, right, bottom in self._taken
        )


def _name(entry: Entry, several: bool) -> str:
    return f"{entry.policy} ({entry.setting})" if several and entry.setting != "default" else entry.policy
