"""A run as a picture file: load, latency against the SLA, executors and decisions over time."""

from pathlib import Path

from rheostat.cli.history import History
from rheostat.cli.picture_file import save
from rheostat.loop.turn import Ruling
from rheostat.sla import SLA


def draw(history: History, sla: SLA | None, title: str, path: Path) -> None:
    """Write the picture to `path`; the ending decides the format (.png, .svg, .pdf)."""
    import matplotlib.figure

    moments = history.moments
    start_s = moments[0].time_s if moments else 0.0
    times = [moment.time_s - start_s for moment in moments]
    figure = matplotlib.figure.Figure(figsize=(9, 6.5), layout="constrained")
    load, latency, executors = figure.subplots(3, 1, sharex=True)
    load.plot(times, [moment.external_rate for moment in moments], color="tab:blue")
    load.set_ylabel("input, records/s")
    known = [(moment.time_s - start_s, moment.latency_s) for moment in moments if moment.latency_s is not None]
    latency.plot(*(zip(*known, strict=True) if known else ([], [])), color="tab:purple", marker=".")
    if sla is not None:
        latency.axhline(sla.latency_s, color="tab:red", linestyle="--", label=f"SLA: {sla}")
        latency.legend(loc="upper left")
    latency.set_ylabel("mean latency, s")
    names = list(moments[0].executors) if moments else []
    executors.stackplot(times, *([m.executors[name] for m in moments] for name in names), labels=names, step="post")
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
    save(figure, path)
