"""Report picture: the curves of a run as the page has them, with its decisions."""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TextIO

from rheostat.errors import ConfigError
from rheostat.journal.points import Point
from rheostat.web.decision_view import DecisionView
from rheostat.web.run_view import RunView

PICTURES = (".png", ".svg", ".pdf")
_SIZE_INCHES, _DPI = (10, 8.6), 130
_DATA, _SOFT, _FAINT, _INK, _MUTED, _LINE = "#2f6690", "#c6d9e7", "#e6eff5", "#171b1f", "#5f6a73", "#e2e5e7"
_VIOLATION, _VIOLATION_SOFT = "#c4320a", "#f9ddd3"
_TITLES = ("Input, records/s", "Latency, s", "Executors", "Queue, records", "Cost, executor-hours")
_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def draw_report(run: RunView, points: Sequence[Point], done: Sequence[DecisionView], output: Path | TextIO) -> None:
    """Draw the picture into a file, or as SVG into an open text."""
    if find_spec("matplotlib") is None:
        raise ConfigError("reports need matplotlib: pip install 'rheostat[plot]'")
    import matplotlib
    from matplotlib.figure import Figure

    start_s, end_s = points[0].from_s, points[-1].until_s
    unit_s, unit = next(each for each in _UNITS if end_s - start_s >= 2 * each[0] or each[0] == 1.0)
    times = [((point.from_s + point.until_s) / 2 - start_s) / unit_s for point in points]
    with matplotlib.rc_context({"svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif"}):
        figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
        rows = figure.subplots(len(_TITLES), 1, sharex=True)
        _draw_input(rows[0], times, points)
        _draw_latency(rows[1], times, points, run, start_s, unit_s)
        _draw_executors(rows[2], times, points)
        rows[3].plot(times, [_known(point.queued) for point in points], color=_DATA, linewidth=1.3)
        rows[4].plot(times, list(accumulate(point.executor_s / 3600 for point in points)), color=_DATA, linewidth=1.3)
        for axes, title in zip(rows, _TITLES, strict=True):
            axes.set_title(title, loc="left", color=_MUTED, fontsize=9)
            axes.set_ylim(bottom=0)
            axes.margins(x=0)
            axes.grid(axis="y", color=_LINE, linewidth=0.8)
            axes.tick_params(colors=_MUTED, length=0)
            axes.spines[:].set_visible(False)
            for each in done:
                axes.axvline((each.time_s - start_s) / unit_s, color=_INK, linewidth=0.5, alpha=0.25)
        rows[-1].set_xlabel(f"{unit}; thin lines are decisions", color=_MUTED)
        _save(figure, output)


def _draw_input(axes: Any, times: list[float], points: Sequence[Point]) -> None:
    if any(point.expected_low is not None for point in points):
        low, high = ([_known(getattr(point, name)) for point in points] for name in ("expected_low", "expected_high"))
        axes.fill_between(times, low, high, color=_LINE, linewidth=0)
    axes.plot(times, [_known(point.expected) for point in points], color=_INK, linewidth=0.9, linestyle=":")
    axes.plot(times, [_known(point.input) for point in points], color=_DATA, linewidth=1.3)


def _draw_latency(
    axes: Any, times: list[float], points: Sequence[Point], run: RunView, start_s: float, unit_s: float
) -> None:
    for before, point in pairwise([points[0], *points]):
        if point.missed:
            missed = ((before.until_s - start_s) / unit_s, (point.until_s - start_s) / unit_s)
            axes.axvspan(*missed, color=_VIOLATION_SOFT, linewidth=0, antialiased=False)
    known = [(time, point) for time, point in zip(times, points, strict=True) if point.latency_s is not None]
    axes.plot([time for time, _ in known], [point.longest_s for _, point in known], color=_SOFT, linewidth=0.8)
    axes.plot([time for time, _ in known], [point.latency_s for _, point in known], color=_DATA, linewidth=1.3)
    ends = [*(goal.from_s for goal in run.goals[1:]), points[-1].until_s]
    for goal, until_s in zip(run.goals, ends, strict=True):
        if goal.limit_s is not None:
            span = [(max(goal.from_s, start_s) - start_s) / unit_s, (until_s - start_s) / unit_s]
            axes.plot(span, [goal.limit_s] * 2, color=_VIOLATION, linewidth=1.1, linestyle="--")


def _draw_executors(axes: Any, times: list[float], points: Sequence[Point]) -> None:
    everything = [point.active + point.coming + point.standby + point.leaving for point in points]
    axes.fill_between(times, everything, step="mid", color=_FAINT, linewidth=0)
    axes.fill_between(times, [point.active for point in points], step="mid", color=_SOFT, linewidth=0)
    axes.step(times, [point.planned for point in points], where="mid", color=_INK, linewidth=0.9)


def _known(value: float | None) -> float:
    return float("nan") if value is None else value


def _save(figure: Any, output: Path | TextIO) -> None:
    try:
        if isinstance(output, Path):
            figure.savefig(output, dpi=_DPI)
        else:
            figure.savefig(output, format="svg")
    except OSError as error:
        raise ConfigError(f"picture {str(output)!r} cannot be written: {error.strerror or error}") from None
