"""Pictures: runs and forecasts drawn into .png, .svg or .pdf files."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.cli.run_history import RunHistory, TurnSummary
from rheostat.errors import ConfigError
from rheostat.forecast.model import Floats
from rheostat.forecast.rolling import Rolling, Scores
from rheostat.loop.turn import Ruling
from rheostat.sla import SLA

_SUFFIXES = (".png", ".svg", ".pdf")
_SIZE_INCHES, _DPI = (9, 6.5), 120
_SHOWN_MODELS = 3
"""Models drawn as curves: those with the smallest error."""


def check_picture(path: Path) -> None:
    """Raise an error if no picture can be written to `path`. Called before the work begins, which may take hours."""
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"picture {str(path)!r} must end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"picture {str(path)!r} cannot be written: give a file in an existing folder")
    if find_spec("matplotlib") is None:
        raise ConfigError("pictures need matplotlib: pip install 'rheostat[plot]'")


def draw_run(history: RunHistory, sla: SLA | None, title: str, path: Path) -> None:
    """Draw load, latency against the SLA, executors and decisions over time."""
    turns = history.turns
    start_s = turns[0].time_s if turns else 0.0
    times = [turn.time_s - start_s for turn in turns]
    figure = _figure()
    load, latency, executors = figure.subplots(3, 1, sharex=True)
    load.plot(times, [turn.external_rate for turn in turns], color="tab:blue")
    load.set_ylabel("input, records/s")
    _draw_latency(latency, turns, start_s, sla)
    names = list(turns[0].executors) if turns else []
    executors.stackplot(times, *([turn.executors[name] for turn in turns] for name in names), labels=names, step="post")
    for time_s, verdict in history.decisions():
        if verdict.ruling is Ruling.ACCEPTED:
            executors.axvline(time_s - start_s, color="black", linewidth=0.5, alpha=0.3)
    executors.legend(loc="upper left")
    executors.set_ylabel("executors")
    executors.set_xlabel("seconds (thin lines: decisions)")
    for axes in (load, latency, executors):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    _save(figure, path)


def draw_forecasts(
    series: Floats, rollings: Sequence[Rolling], scores: Sequence[Scores], title: str, path: Path
) -> None:
    """Draw a recorded load, the forecasts of the best models, and the errors of all models."""
    figure = _figure()
    curves, errors = figure.subplots(2, 1, height_ratios=(2, 1))
    order = sorted(range(len(scores)), key=lambda position: scores[position].wape or 0.0)
    _draw_curves(curves, series, [rollings[position] for position in order[:_SHOWN_MODELS]])
    _draw_errors(errors, [scores[position] for position in order])
    figure.suptitle(title)
    _save(figure, path)


def _draw_latency(axes: Any, turns: Sequence[TurnSummary], start_s: float, sla: SLA | None) -> None:
    known = [(turn.time_s - start_s, turn.latency_s) for turn in turns if turn.latency_s is not None]
    axes.plot(*(zip(*known, strict=True) if known else ([], [])), color="tab:purple", marker=".")
    if sla is not None:
        axes.axhline(sla.latency_s, color="tab:red", linestyle="--", label=f"SLA: {sla}")
        axes.legend(loc="upper left")
    axes.set_ylabel("mean latency, s")


def _draw_curves(axes: Any, series: Floats, rollings: Sequence[Rolling]) -> None:
    axes.plot(series, color="black", linewidth=0.8, label="recorded")
    for number, rolling in enumerate(rollings):
        color, name = f"C{number}", rolling.forecaster.model.name
        for origin, forecast in zip(rolling.origins, rolling.forecasts, strict=True):
            steps = np.arange(origin, origin + len(forecast.mean))
            label = name if origin == rolling.origins[0] else None
            axes.plot(steps, forecast.mean, color=color, linewidth=1.0, label=label)
            if number == 0:
                axes.fill_between(steps, forecast.low, forecast.high, color=color, alpha=0.15, linewidth=0)
    axes.set_ylabel("rate")
    axes.set_xlabel("sample")
    axes.set_ylim(0, 1.2 * float(series.max()) or 1.0)
    axes.legend(loc="upper left")
    axes.grid(alpha=0.3)


def _draw_errors(axes: Any, scores: Sequence[Scores]) -> None:
    places = np.arange(len(scores))
    axes.bar(places - 0.2, [score.wape or 0.0 for score in scores], width=0.4, label="WAPE")
    axes.bar(places + 0.2, [score.bias or 0.0 for score in scores], width=0.4, label="bias")
    axes.set_xticks(places, [score.model for score in scores], rotation=30, ha="right")
    axes.legend(loc="upper left")
    axes.grid(alpha=0.3, axis="y")


def _figure() -> Any:
    import matplotlib.figure

    return matplotlib.figure.Figure(figsize=_SIZE_INCHES, layout="constrained")


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=_DPI)
    except OSError as error:
        raise ConfigError(f"picture {str(path)!r} cannot be written: {error.strerror or error}") from None
