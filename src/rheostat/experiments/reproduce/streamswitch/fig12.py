"""Figures 12 and 13: executors of different speeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.streamswitch.result_means import events, executors, success
from rheostat.experiments.reproduce.streamswitch.workloads import SWITCH, auctions
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.reproduce.turn_log import TurnLog, simulate_with_log
from rheostat.experiments.result import Result
from rheostat.snapshot import ExecutorPhase

_SPEEDS = (0.5, 0.75, 1.25, 1.5)
_SHARES = (0.2, 0.4, 0.6, 0.8)
_RATE, _AMPLITUDE, _PERIOD_S = 4000.0, 10_000.0, 600.0
Mix = tuple[float, float]
"""α, the speed of odd executors, and β, the probability that an executor is odd."""


@dataclass(frozen=True)
class SpeedMixRuns:
    """The results with one mix, and the share of odd ones among the active executors in each run."""

    results: tuple[Result, ...]
    odd_shares: tuple[float, ...]

    def odd_percent(self) -> Mean:
        return mean_of([100 * share for share in self.odd_shares])


Found = Mapping[Mix, SpeedMixRuns]


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    mixes = [(speed, share) for speed in _SPEEDS for share in (_SHARES[::3] if effort.quick else _SHARES)]
    found: dict[Mix, SpeedMixRuns] = {}
    for done, mix in enumerate(mixes, start=1):
        found[mix] = _runs(mix, effort)
        progress(done / len(mixes))
    return ReproductionResult(
        columns=("α", "β (%)", "success (%)", "executors", "odd executors in use (%)", "switching events"),
        rows=tuple(
            (
                speed,
                100 * share,
                success(runs.results),
                executors(runs.results),
                runs.odd_percent(),
                events(runs.results),
            )
            for (speed, share), runs in found.items()
        ),
        claims=_claims(found),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, found),
    )


def _runs(mix: Mix, effort: Effort) -> SpeedMixRuns:
    speed, share = mix
    scenario = auctions(
        _AMPLITUDE,
        _PERIOD_S,
        _RATE,
        duration_s=effort.choose(_PERIOD_S, 20.0),
        cluster={"odd_speed": speed, "odd_share": share},
    )
    case = Case(scenario, "streamswitch", SWITCH | {"epsilon": 0.2})
    pairs = [simulate_with_log(case, seed) for seed in range(effort.seeds)]
    return SpeedMixRuns(tuple(result for result, _ in pairs), tuple(_odd_share(log, speed) for _, log in pairs))


def _odd_share(log: TurnLog, speed: float) -> float:
    """The share of odd ones among the active executors, over all turns in the second half."""
    half = log.turns[len(log.turns) // 2 :]
    serving = [
        executor.speed == speed
        for turn in half
        if turn.snapshot is not None
        for executor in turn.snapshot.executors
        if executor.phase is ExecutorPhase.ACTIVE
    ]
    return float(np.mean(serving))


def _claims(found: Found) -> tuple[Claim, ...]:
    good = {mix: success(runs.results).mean for mix, runs in found.items()}
    numbers = {mix: executors(runs.results).mean for mix, runs in found.items()}
    odd = {mix: runs.odd_percent().mean for mix, runs in found.items()}
    least, most = _SHARES[0], _SHARES[-1]
    slow, fast = [m for m in found if m[0] < 1], [m for m in found if m[0] > 1]
    event_counts = {
        speed: np.mean([events(runs.results).mean for mix, runs in found.items() if mix[0] == speed])
        for speed in _SPEEDS
    }
    return (
        Claim(
            "the success rate is close to 100 %, and below 99 % only with α = 0.5",
            all(rate > 99 for (speed, _), rate in good.items() if speed > 0.5),
            f"{min(good.values()):.2f} % at least, {min(r for m, r in good.items() if m[0] > 0.5):.2f} % "
            "with the others",
        ),
        Claim(
            "slower odd executors lead to more executors",
            all(numbers[0.5, share] > numbers[1.5, share] for share in {share for _, share in found}),
        ),
        Claim(
            "with a larger β more executors are used if the odd ones are slow, and fewer if they are fast",
            numbers[0.5, most] > numbers[0.5, least] and numbers[1.5, most] < numbers[1.5, least],
            f"α = 0.5: {numbers[0.5, least]:.2f} to {numbers[0.5, most]:.2f}; α = 1.5: {numbers[1.5, least]:.2f} to "
            f"{numbers[1.5, most]:.2f}",
        ),
        Claim(
            "faster executors are kept: the share of slow ones in use is below β",
            float(np.mean([odd[mix] - 100 * mix[1] for mix in slow])) < 0,
            f"{np.mean([odd[mix] - 100 * mix[1] for mix in slow]):+.1f} points on average",
        ),
        Claim(
            "faster executors are kept: the share of fast ones in use is above β",
            float(np.mean([odd[mix] - 100 * mix[1] for mix in fast])) > 0,
            f"{np.mean([odd[mix] - 100 * mix[1] for mix in fast]):+.1f} points on average",
        ),
        Claim(
            "slower odd executors lead to more switching events",
            bool(event_counts[0.5] > event_counts[1.5]),
            ", ".join(f"α = {speed}: {number:.0f}" for speed, number in event_counts.items()),
        ),
    )


_NOTE = (
    "The speed of an executor is drawn when it starts, also for the initial ones, and a run has few executors. The "
    "share of odd executors in use is taken over the second half of a run."
)


def _draw(figure: Any, found: Found) -> None:
    grid = figure.subplots(2, 2, sharex=True)
    titles = ("success, %", "executors", "odd executors in use, %", "switching events")
    for speed in _SPEEDS:
        mixes = [mix for mix in found if mix[0] == speed]
        series: Sequence[list[float]] = (
            [success(found[mix].results).mean for mix in mixes],
            [executors(found[mix].results).mean for mix in mixes],
            [found[mix].odd_percent().mean for mix in mixes],
            [events(found[mix].results).mean for mix in mixes],
        )
        for axes, values in zip(grid.flat, series, strict=True):
            axes.plot([share for _, share in mixes], values, marker="o", label=f"α = {speed}")
    for axes, title in zip(grid.flat, titles, strict=True):
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)
    grid[1][0].plot(_SHARES, [100 * share for share in _SHARES], "k:", label="β")
    grid[0][0].legend(fontsize=7)
    for axes in grid[1]:
        axes.set_xlabel("β")


REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig12",
        figure="Figures 12 and 13",
        title="executors of different speeds",
        run=run,
        setting="Switch(0.2) on 30,000 ± 10,000 records/s with a period of ten minutes, executors of 4,000/s. Each "
        "executor is odd with probability β and then α times as fast. A run is one period (an hour in the paper).",
        also=("streamswitch-fig13",),
    ),
)
