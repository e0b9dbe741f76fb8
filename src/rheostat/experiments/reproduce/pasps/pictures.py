"""Pictures: latency against input error and saved resources, and systems compared with the paper."""

from collections.abc import Mapping
from typing import Any

from rheostat.experiments.reproduce.pasps.metrics import Metrics, Printed


def draw_predictors(figure: Any, found: Mapping[str, Metrics], printed: Mapping[str, Printed]) -> None:
    """Latency by input error, and latency by saved resources; the paper's points are hollow, ours are filled."""
    left, right = figure.subplots(1, 2, sharey=True)
    for number, (name, metrics) in enumerate(found.items()):
        color = f"C{number}"
        for axes, x, position in ((left, metrics.input_error, 4), (right, metrics.saved, 0)):
            axes.plot(x.mean, metrics.latency_ms.mean, "o", color=color, label=name)
            if name in printed:
                axes.plot(printed[name][position], printed[name][3], "o", color=color, fillstyle="none")
    left.set_yscale("log")
    left.set_xlabel("input error")
    left.set_ylabel("mean latency, ms (hollow: paper)")
    right.set_xlabel("saved resources")
    right.legend()
    for axes in (left, right):
        axes.grid(alpha=0.3)


def draw_systems(figure: Any, found: Mapping[str, Metrics], printed: Mapping[str, Printed]) -> None:
    """Saved resources, degradation and processed share of each system, the paper's next to ours."""
    axes = figure.subplots(1, 3)
    for position, (each, title) in enumerate(zip(axes, ("saved resources", "degradation", "processed"), strict=True)):
        here = [metrics.cells()[position].mean for metrics in found.values()]
        there = [printed[name][position] if name in printed else 0.0 for name in found]
        places = range(len(found))
        each.bar([place - 0.2 for place in places], there, width=0.4, color="tab:gray", label="paper")
        each.bar([place + 0.2 for place in places], here, width=0.4, label="here")
        each.set_xticks(places, list(found), rotation=40, ha="right")
        each.set_title(title)
        each.grid(alpha=0.3, axis="y")
    axes[0].legend()
