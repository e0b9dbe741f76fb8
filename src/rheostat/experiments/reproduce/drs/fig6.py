"""Figure 6: the recommended allocation is the best measured among its neighbours."""

from collections import Counter
from typing import Any

from rheostat.experiments.replicate import mean_of
from rheostat.experiments.reproduce.course import Sizes
from rheostat.experiments.reproduce.drs.passive import FPD, VLD, Application, Run, mean_s, passive_runs, written_sizes
from rheostat.experiments.reproduce.reproduction import Cell, Claim, Effort, Outcome, Progress, Reproduction

Runs = dict[Sizes, list[Run]]


def run(effort: Effort, progress: Progress) -> Outcome:
    found = passive_runs(effort, progress)
    return Outcome(
        columns=(
            "application",
            "allocation",
            "paper",
            "mean sojourn here (s)",
            "deviation here (s)",
            "recommended here",
        ),
        rows=tuple(row for app in (VLD, FPD) for row in _rows(app, found[app.name])),
        claims=tuple(claim for app in (VLD, FPD) for claim in _claims(app, found[app.name])),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, found),
    )


def _rows(app: Application, runs: Runs) -> list[tuple[Cell, ...]]:
    said = recommended(runs)
    total = sum(said.values())
    return [
        (
            app.name,
            written_sizes(sizes),
            "recommended, best" if sizes == app.recommended else "worse",
            mean_s(runs[sizes]),
            mean_of([run.deviation_s for run in runs[sizes]]),
            f"{said[sizes]} of {total} runs",
        )
        for sizes in runs
    ]


def recommended(runs: Runs) -> Counter[Sizes]:
    """How often each allocation was recommended, over the runs of all."""
    return Counter(run.recommended for each in runs.values() for run in each)


def _claims(app: Application, runs: Runs) -> list[Claim]:
    best = app.recommended
    others = [sizes for sizes in runs if sizes != best]
    said, times = recommended(runs).most_common(1)[0]
    next_best = min(others, key=lambda sizes: mean_s(runs[sizes]).mean)
    lead = mean_of([other.mean_s - own.mean_s for own, other in zip(runs[best], runs[next_best], strict=True)])
    deviations = {sizes: mean_of([run.deviation_s for run in runs[sizes]]).mean for sizes in runs}
    steadiest = min(deviations, key=lambda sizes: deviations[sizes])
    return [
        Claim(
            f"{app.name}: DRS recommends {written_sizes(best)}",
            said == best,
            f"{written_sizes(said)} in {times} of {sum(map(len, runs.values()))} runs",
        ),
        Claim(
            f"{app.name}: {written_sizes(best)} has the least mean sojourn time",
            lead.mean > 0,
            f"{written_sizes(next_best)}, the next, takes {1e3 * lead.mean:.1f}"
            + (f" ± {1e3 * lead.half_width:.1f}" if lead.half_width is not None else "")
            + " ms longer on the same arrivals",
        ),
        Claim(
            f"{app.name}: and the least deviation",
            steadiest == best,
            f"{written_sizes(steadiest)} {deviations[steadiest]:.3g} s, {written_sizes(best)} {deviations[best]:.3g} s",
        ),
    ]


_NOTE = (
    "The paper shows six allocations for each application and prints no times. Here are the recommended one, all "
    "that differ from it by one executor, and those that figure 8 starts from."
)


def _draw(figure: Any, found: dict[str, Runs]) -> None:
    for axes, app in zip(figure.subplots(1, 2), (VLD, FPD), strict=True):
        runs = found[app.name]
        means = [mean_s(runs[sizes]) for sizes in runs]
        deviations = [mean_of([run.deviation_s for run in runs[sizes]]).mean for sizes in runs]
        colours = ["tab:green" if sizes == app.recommended else "tab:blue" for sizes in runs]
        names = [written_sizes(sizes) for sizes in runs]
        axes.bar(names, [m.mean for m in means], yerr=[m.half_width or 0 for m in means], color=colours, capsize=3)
        axes.plot(names, deviations, "kD", markersize=4, label="standard deviation")
        axes.set_title(f"{app.name} (green: recommended)")
        axes.set_ylabel("mean sojourn time, s")
        axes.tick_params(axis="x", rotation=60)
        axes.legend()


REPRODUCTIONS = (
    Reproduction(
        name="drs-fig6",
        figure="Figure 6",
        title="the recommended allocation is the best measured",
        run=run,
        setting="Passive mode, K_max = 22. VLD 40 minutes a run (10 there), FPD 10.",
    ),
)
