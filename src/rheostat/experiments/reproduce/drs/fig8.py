"""Figure 8: from bad initial allocations to the optimum, in one action after T_ra."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.experiments.reproduce.drs.applications import AS_PUBLISHED, K_MAX
from rheostat.experiments.reproduce.drs.passive_runs import BY_CHOICE, FPD, VLD, DrsApplication, sizes_text
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.reproduce.turn_log import Sizes, TurnLog, simulate_with_log

_MINUTES, _T_RA = 27, 14
_OPTIONS = AS_PUBLISHED | {"problem": "k_max", "k_max": K_MAX, "smoothing": f"window:{_T_RA}", "t_ra": f"{_T_RA}m"}
_PAUSE = {"pause_on_add": "3s"}


@dataclass(frozen=True)
class StartRuns:
    """The turn logs of the runs that start with one allocation."""

    application: DrsApplication
    sizes: Sizes
    logs: tuple[TurnLog, ...]

    def latencies_s(self) -> np.ndarray:
        """Mean sojourn time in each minute, averaged over the runs."""
        return np.asarray(np.mean([log.latencies_s()[1:] for log in self.logs], axis=0))

    def before_s(self) -> float:
        return float(self.latencies_s()[1:_T_RA].mean())

    def after_s(self) -> float:
        """Mean sojourn time from the third minute after the action."""
        return float(self.latencies_s()[_T_RA + 2 :].mean())

    def actions(self) -> list[tuple[float, Sizes]]:
        return [action for log in self.logs for action in log.actions()]

    def final(self) -> Counter[Sizes]:
        return Counter(log.sizes()[-1] for log in self.logs)


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    wanted = [(app, sizes) for app in (VLD, FPD) for sizes in (app.recommended, *app.starts)]
    starts = []
    for done, (app, sizes) in enumerate(wanted, start=1):
        case = Case(app.scenario(sizes, duration=f"{_MINUTES}m", cluster=_PAUSE), "drs", _OPTIONS)
        logs = tuple(simulate_with_log(case, seed)[1] for seed in range(effort.seeds))
        starts.append(StartRuns(app, sizes, logs))
        progress(done / len(wanted))
    return ReproductionResult(
        columns=(
            "application",
            "start",
            "actions: paper (minute)",
            "actions here (minute)",
            "final allocation",
            "before (s)",
            "after (s)",
        ),
        rows=tuple(_row(start) for start in starts),
        claims=tuple(claim for app in (VLD, FPD) for claim in _claims(app, starts)),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, starts),
    )


def _row(start: StartRuns) -> tuple[str | float, ...]:
    minutes = Counter(round(time_s / 60) for time_s, _ in start.actions())
    return (
        start.application.name,
        sizes_text(start.sizes),
        "none" if start.sizes == start.application.recommended else "14",
        ", ".join(f"{minute} ({count}×)" for minute, count in sorted(minutes.items())) or "none",
        ", ".join(f"{sizes_text(sizes)} ({count}×)" for sizes, count in start.final().most_common()),
        start.before_s(),
        start.after_s(),
    )


def _claims(app: DrsApplication, starts: list[StartRuns]) -> list[Claim]:
    own = [start for start in starts if start.application is app]
    bad = [start for start in own if start.sizes != app.recommended]
    minutes_of_actions = [[round(time_s / 60) for time_s, _ in log.actions()] for start in bad for log in start.logs]
    finals = Counter(log.sizes()[-1] for start in own for log in start.logs)
    ends_s = [start.after_s() for start in own]
    return [
        Claim(
            f"{app.name}: a bad start is corrected by one action, in minute {_T_RA}",
            all(minutes == [_T_RA] for minutes in minutes_of_actions),
            f"{sum(minutes == [_T_RA] for minutes in minutes_of_actions)} of {len(minutes_of_actions)} runs",
        ),
        Claim(
            f"{app.name}: all runs end with {sizes_text(app.recommended)}",
            set(finals) == {app.recommended},
            ", ".join(f"{sizes_text(sizes)} {count}×" for sizes, count in finals.most_common()),
            given=BY_CHOICE,
        ),
        Claim(
            f"{app.name}: after that, bad starts are better than before and close to the good one",
            all(start.after_s() < start.before_s() for start in bad) and max(ends_s) < 1.1 * min(ends_s),
            ", ".join(f"{start.before_s():.3g} → {start.after_s():.3g} s" for start in bad),
        ),
    ]


_NOTE = (
    "An action stops the topology for 3 seconds, which is the peak in minute 15 (a few seconds in the paper, and one "
    "or two minutes with Storm's own rebalance)."
)


def _draw(figure: Any, starts: list[StartRuns]) -> None:
    for axes, app in zip(figure.subplots(1, 2), (VLD, FPD), strict=True):
        for start, marker in zip([s for s in starts if s.application is app], "o+x", strict=True):
            latencies_s = start.latencies_s()
            axes.plot(range(1, len(latencies_s) + 1), latencies_s, marker=marker, label=sizes_text(start.sizes))
        axes.axvline(_T_RA, color="black", linewidth=0.5)
        axes.set_title(app.name)
        axes.set_xlabel("minute")
        axes.set_ylabel("mean sojourn time, s")
        axes.set_ylim(bottom=0)
        axes.legend(title="start")
        axes.grid(alpha=0.3)


REPRODUCTIONS = (
    Reproduction(
        name="drs-fig8",
        figure="Figure 8",
        title="from bad allocations to the optimum after T_ra",
        run=run,
        setting="27 minutes, K_max = 22, T_ra = w = 14 minutes; an action stops the topology for 3 s.",
    ),
)
