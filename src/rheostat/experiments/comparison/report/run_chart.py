"""Run chart: load, executors and latency of one scenario over time, with a row for each policy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rheostat.duration import human
from rheostat.experiments.comparison.report import svg
from rheostat.experiments.comparison.report.svg import AxisScale
from rheostat.experiments.time_series import SeriesPoint

_WIDTH, _ROW, _TOP, _BOTTOM, _PANEL = 960.0, 104.0, 30.0, 34.0, 66.0
_LEFT, _RIGHT = (46.0, 446.0), (540.0, 940.0)

_HIGHEST_LATENCY = 4.0
"""Times the SLA: longer latencies are drawn at the upper edge."""

_MINUTE_S = 60.0


@dataclass(frozen=True)
class ChartRow:
    """One run: who, its main figures in words, and its time series."""

    name: str
    figures: str
    series: Sequence[SeriesPoint]


def run_chart(scenario: str, rows: Sequence[ChartRow], duration_s: float, latency_limit_s: float) -> str:
    """A picture with the same scales in all rows; empty without any point."""
    points = [point for row in rows for point in row.series]
    if not points:
        return ""
    chart = _RunChart(
        duration_s,
        latency_limit_s,
        max((point.input_rate or 0.0 for point in points), default=0.0) or 1.0,
        max(sum(point.executors.values()) for point in points) or 1,
    )
    height = _TOP + _ROW * len(rows) + _BOTTOM
    content = [*_legend(), *(part for number, row in enumerate(rows) for part in chart.row(row, _TOP + number * _ROW))]
    content += chart.times(_TOP + _ROW * len(rows) + 4)
    return svg.drawing(_WIDTH, height, f"{scenario}: load, executors and latency over time by policy", content)


def _legend() -> Iterator[str]:
    yield svg.element("rect", x=_LEFT[0], y=6, width=12, height=10, class_="load")
    yield svg.text(_LEFT[0] + 17, 15, "load, records/s (left scale)", class_="label")
    yield svg.line(_LEFT[0] + 205, 11, _LEFT[0] + 223, 11, "executors")
    yield svg.text(_LEFT[0] + 228, 15, "executors (right scale)", class_="label")
    yield svg.line(_RIGHT[0], 11, _RIGHT[0] + 18, 11, "latency")
    yield svg.text(_RIGHT[0] + 23, 15, "latency", class_="label")
    yield svg.line(_RIGHT[0] + 80, 11, _RIGHT[0] + 98, 11, "sla")
    yield svg.text(_RIGHT[0] + 103, 15, "SLA", class_="label")
    yield svg.element("rect", x=_RIGHT[0] + 140, y=6, width=12, height=10, class_="missed")
    yield svg.text(_RIGHT[0] + 157, 15, "SLA missed", class_="label")


@dataclass(frozen=True)
class _RunChart:
    duration_s: float
    latency_limit_s: float
    highest_rate: float
    most_executors: int

    def row(self, row: ChartRow, top: float) -> Iterator[str]:
        upper, lower = top + 22, top + 22 + _PANEL
        yield svg.text(_LEFT[0], top + 14, row.name, class_="name")
        yield svg.text(_RIGHT[1], top + 14, row.figures, class_="label", text_anchor="end")
        yield from self._load_and_executors(row.series, upper, lower)
        yield from self._latency(row.series, upper, lower)

    def times(self, y: float) -> Iterator[str]:
        """The labels of the time axes, in minutes."""
        for ends in (_LEFT, _RIGHT):
            scale = AxisScale(0.0, self.duration_s / _MINUTE_S, *ends)
            for minutes in scale.ticks(6):
                yield svg.text(scale(minutes), y + 8, f"{minutes:g}", class_="tick", text_anchor="middle")
            yield svg.text((ends[0] + ends[1]) / 2, y + 23, "minutes", class_="tick", text_anchor="middle")

    def _load_and_executors(self, series: Sequence[SeriesPoint], upper: float, lower: float) -> Iterator[str]:
        time = AxisScale(0.0, self.duration_s, *_LEFT)
        rate, number = (
            AxisScale(0.0, self.highest_rate, lower, upper),
            AxisScale(0.0, self.most_executors, lower, upper),
        )
        yield from self._frame(time, upper, lower)
        loads = [(time(point.time_s), rate(point.input_rate)) for point in series if point.input_rate is not None]
        if loads:
            area = [(loads[0][0], lower), *loads, (loads[-1][0], lower)]
            yield svg.element("path", d=svg.path_through(area) + "Z", class_="load")
        sizes = [(time(point.time_s), number(sum(point.executors.values()))) for point in series]
        if sizes:
            yield svg.element("path", d=svg.path_through(svg.steps_through(sizes)), class_="executors")
        for value in (0.0, self.highest_rate):
            yield svg.text(_LEFT[0] - 5, rate(value) + 3, f"{value:,.0f}", class_="tick", text_anchor="end")
        for value in (0, self.most_executors):
            yield svg.text(_LEFT[1] + 5, number(value) + 3, str(value), class_="tick executors-tick")

    def _latency(self, series: Sequence[SeriesPoint], upper: float, lower: float) -> Iterator[str]:
        time = AxisScale(0.0, self.duration_s, *_RIGHT)
        latency = AxisScale(0.0, _HIGHEST_LATENCY * self.latency_limit_s, lower, upper)
        for start_s, end_s in _missed(series):
            width = max(0.5, time(end_s) - time(start_s))
            yield svg.element("rect", x=time(start_s), y=upper, width=width, height=lower - upper, class_="missed")
        yield from self._frame(time, upper, lower)
        limit = latency(self.latency_limit_s)
        yield svg.line(*(_RIGHT[0], limit), *(_RIGHT[1], limit), "sla")
        for points in _joined(series, _HIGHEST_LATENCY * self.latency_limit_s):
            places = [(time(point.time_s), latency(point.latency_s or 0.0)) for point in points]
            yield svg.element("path", d=svg.path_through(places), class_="latency")
        for times in (0.0, 1.0, _HIGHEST_LATENCY):
            value = times * self.latency_limit_s
            label = f"≥ {human(value)}" if times == _HIGHEST_LATENCY else human(value)
            yield svg.text(_RIGHT[0] - 5, latency(value) + 3, label, class_="tick", text_anchor="end")

    def _frame(self, time: AxisScale, upper: float, lower: float) -> Iterator[str]:
        yield svg.line(time.start, lower, time.end, lower, "axis")
        for minutes in AxisScale(0.0, self.duration_s / _MINUTE_S, time.start, time.end).ticks(6):
            x = time(minutes * _MINUTE_S)
            yield svg.line(x, upper, x, lower, "grid")


def _joined(series: Sequence[SeriesPoint], gap_s: float) -> Iterator[list[SeriesPoint]]:
    """The points with a latency, in groups between which none completed for longer than `gap_s`."""
    group: list[SeriesPoint] = []
    for point in series:
        if point.latency_s is None:
            continue
        if group and point.time_s - group[-1].time_s > gap_s:
            yield group
            group = []
        group.append(point)
    if group:
        yield group


def _missed(series: Sequence[SeriesPoint]) -> Iterator[tuple[float, float]]:
    """From when until when windows missed the SLA."""
    times_s = [0.0, *(point.time_s for point in series)]
    spans = list(zip(pairwise(times_s), series, strict=True))
    for is_missed, group in groupby(spans, lambda each: each[1].sla_met is False):
        if is_missed:
            found = [span for span, _ in group]
            yield found[0][0], found[-1][1]
