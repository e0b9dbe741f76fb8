"""Presentation: the results of a comparison as a table and as a picture."""

from typing import Any

import numpy as np

from rheostat.experiments.reproduce.dabs.comparison import RESTARTS, Comparison
from rheostat.experiments.reproduce.dabs.loads import DURATION_S
from rheostat.experiments.reproduce.dabs.topologies import DabsTopology
from rheostat.experiments.reproduce.reproduction import Cell

COLUMNS = (
    "strategy",
    "its best setting",
    "lost: paper",
    "setting",
    "lost (%)",
    "mean latency (s)",
    "degree",
    "units in total",
    "changes of degree",
)
_WITH, _WITHOUT = RESTARTS


def rows(found: Comparison, paper: dict[str, str]) -> tuple[tuple[Cell, ...], ...]:
    """One row for each strategy and setting; `paper` has the printed loss by strategy."""
    return tuple(
        (
            strategy,
            runs.setup or None,
            paper.get(strategy) if setting == _WITH else None,
            setting,
            runs.loss(),
            runs.latency_s(),
            runs.degree(),
            runs.units(),
            runs.changes(),
        )
        for (strategy, setting), runs in sorted(found.items(), key=lambda item: item[0][1] != _WITH)
    )


def draw(figure: Any, found: Comparison, application: DabsTopology, load: dict[str, Any]) -> None:
    """Like the paper's figures: degree and latency over time, and the losses as bars for both settings."""
    (degree, lost), (latency, legend) = figure.subplots(2, 2, width_ratios=(3, 1))
    strategies = list(dict.fromkeys(strategy for strategy, _ in found))
    for colour, strategy in enumerate(strategies):
        _draw_log(degree, latency, found, application, strategy, f"C{colour}")
    _draw_input(degree, application, load)
    degree.set_ylabel(f"executors of {application.observed!r}")
    latency.set_ylabel("latency, s")
    latency.set_yscale("log")
    latency.set_xlabel("minutes (with restarts, first run)")
    _draw_losses(lost, found, strategies)
    handles, labels = degree.get_legend_handles_labels()
    legend.axis("off")
    legend.legend(handles, labels, fontsize="small", loc="center", frameon=False)


def _draw_log(
    degree: Any, latency: Any, found: Comparison, application: DabsTopology, strategy: str, colour: str
) -> None:
    log = found[strategy, _WITH].log
    position = [operator["name"] for operator in application.operators].index(application.observed)
    minutes = np.array(log.times_s()) / 60
    sizes = [each[position] for each in log.sizes()]
    degree.step(minutes, sizes, where="post", color=colour, label=strategy, linewidth=1)
    latency.plot(minutes, log.latencies_s(), color=colour, linewidth=1)


def _draw_input(axes: Any, application: DabsTopology, load: dict[str, Any]) -> None:
    scenario = application.scenario("input", load, None)
    times_s = np.arange(0.0, DURATION_S, 5.0)
    input_axes = axes.twinx()
    input_axes.fill_between(times_s / 60, scenario.model.source("source").load.rates(times_s), color="0.9")
    input_axes.set_ylabel("records/s")
    axes.set_zorder(input_axes.get_zorder() + 1)
    axes.patch.set_visible(False)


def _draw_losses(axes: Any, found: Comparison, strategies: list[str]) -> None:
    for place, setting in enumerate(RESTARTS):
        losses = [found[strategy, setting].loss() for strategy in strategies]
        positions = np.arange(len(strategies)) + 0.4 * place - 0.2
        errors = [loss.half_width or 0.0 for loss in losses]
        colours = [f"C{number}" for number in range(len(strategies))]
        means = [loss.mean for loss in losses]
        axes.bar(positions, means, 0.38, yerr=errors, color=colours, alpha=0.5 if place else 1.0)
    axes.set_xticks([])
    axes.set_ylabel("lost, %")
    axes.set_xlabel("light: no restart")
