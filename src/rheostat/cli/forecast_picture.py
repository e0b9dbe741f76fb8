"""Forecasts as a picture file: what came, what was expected of it, and how wrong each model was."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.cli.picture_file import save
from rheostat.forecast.model import Floats
from rheostat.forecast.rolling import Rolling, Scores

_SHOWN = 3
"""Models drawn as curves: those with the least error."""


def draw(series: Floats, rollings: Sequence[Rolling], scores: Sequence[Scores], title: str, path: Path) -> None:
    """Write the picture to `path`; the ending decides the format."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(9, 6.5), layout="constrained")
    curves, errors = figure.subplots(2, 1, height_ratios=(2, 1))
    order = sorted(range(len(scores)), key=lambda position: scores[position].wape or 0.0)
    _draw_curves(curves, series, [rollings[position] for position in order[:_SHOWN]])
    _draw_errors(errors, [scores[position] for position in order])
    figure.suptitle(title)
    save(figure, path)


def _draw_curves(axes: Any, series: Floats, rollings: Sequence[Rolling]) -> None:
    axes.plot(series, color="black", linewidth=0.8, label="came")
    for number, rolling in enumerate(rollings):
        color, name = f"C{number}", rolling.forecaster.model.name
        for origin, forecast in zip(rolling.origins, rolling.forecasts, strict=True):
            steps = np.arange(origin, origin + len(forecast.mean))
            label = name if origin == rolling.origins[0] else None
            axes.plot(steps, forecast.mean, color=color, linewidth=1.0, label=label)
            if number == 0:
                axes.fill_between(steps, forecast.low, forecast.high, color=color, alpha=0.15, linewidth=0)
    axes.set_ylabel("samples")
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
