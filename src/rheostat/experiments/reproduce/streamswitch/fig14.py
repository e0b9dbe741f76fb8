"""Figures 14 and 15: the limits of StreamSwitch, when executors spend much of their time on switching."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheostat.experiments.reproduce.reproduction import Cell, Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.streamswitch.result_means import (
    events,
    executors,
    success,
    switching_percent,
    switching_s,
)
from rheostat.experiments.reproduce.streamswitch.workloads import AUCTION_MOVE_S, SWITCH, auctions
from rheostat.experiments.reproduce.sweep import Case, sweep
from rheostat.experiments.result import Result

_RATE = 10_000.0
_WAVES = ((10e3, 90.0), (20e3, 90.0), (30e3, 90.0), (30e3, 80.0), (30e3, 70.0))
"""Amplitude and period."""

_FASTER = (30e3, 60.0)
"""Faster than in the paper."""

_DELAYS_S = (0.0, 0.25, 0.5, 1.0, 2.0)
Found = Mapping[Any, Sequence[Result]]
_COLUMNS = ("success (%)", "executors", "events", "seconds per event", "time in switching (%)")


def burstier(effort: Effort, progress: Progress) -> ReproductionResult:
    """Figure 14."""
    simulated = sweep({wave: _case(*wave, effort) for wave in (*_WAVES, _FASTER)}, effort, progress)
    found = {wave: simulated[wave] for wave in _WAVES}
    first, last, beyond = (simulated[wave] for wave in (_WAVES[0], _WAVES[-1], _FASTER))
    return ReproductionResult(
        columns=("amplitude (/s)", "period (s)", *_COLUMNS, "paper: success, events"),
        rows=tuple((*wave, *_figures(results), _PAPER_WAVES.get(wave, "")) for wave, results in simulated.items()),
        claims=(
            _falls(found, _WAVES, "the success rate falls as the load becomes burstier"),
            Claim(
                "it falls below 80 %",
                success(last).mean < 80,
                f"{success(last).mean:.1f} %",
                why=f"The limit is a little further here: with a period of {_FASTER[1]:g} s (last row) it is "
                f"{success(beyond).mean:.1f} %.",
            ),
            Claim(
                "more executors are used",
                executors(last).mean > executors(first).mean,
                f"{executors(first).mean:.2f} to {executors(last).mean:.2f}",
            ),
            Claim(
                "switching events rise from 60 to over 130 in ten minutes",
                events(last).mean > 2 * events(first).mean,
                f"{events(first).mean:.0f} to {events(last).mean:.0f} in {first[0].duration_s / 60:.0f} minutes",
            ),
            _related(found),
        ),
        notes=(_BURST_NOTE,),
        draw=lambda figure: _draw(
            figure, found, [f"{amplitude / 1e3:.0f} K, {period:.0f} s" for amplitude, period in _WAVES]
        ),
    )


def slower(effort: Effort, progress: Progress) -> ReproductionResult:
    """Figure 15."""
    found = sweep({delay_s: _case(*_WAVES[0], effort, delay_s) for delay_s in _DELAYS_S}, effort, progress)
    return ReproductionResult(
        columns=("added delay (s)", *_COLUMNS, "paper: seconds per event"),
        rows=tuple((delay_s, *_figures(found[delay_s]), _PAPER_DELAYS.get(delay_s)) for delay_s in _DELAYS_S),
        claims=(
            _falls(found, _DELAYS_S, "the success rate falls as switching takes longer"),
            Claim(
                "an event takes several times the added delay: 6 and 13 s with 1 and 2 s",
                switching_s(found[2.0]).mean > 2 * 2.0,
                f"{switching_s(found[1.0]).mean:.2f} and {switching_s(found[2.0]).mean:.2f} s",
                why=_little_before_the_barrier(found[2.0]),
            ),
            Claim(
                "there are fewer switching events",
                events(found[2.0]).mean < events(found[0.0]).mean,
                f"{events(found[0.0]).mean:.0f} and {events(found[2.0]).mean:.0f}",
            ),
            _related(found),
        ),
        notes=(_DELAY_NOTE,),
        draw=lambda figure: _draw(figure, found, [f"+{delay_s:g} s" for delay_s in _DELAYS_S]),
    )


def _little_before_the_barrier(results: Sequence[Result]) -> str:
    return (
        "A switch first waits for what is before the barrier in the two queues, and there is little: "
        f"{events(results).mean:.0f} switches in {results[0].duration_s / 60:.0f} minutes, of "
        f"{switching_s(results).mean:.2f} s each, take {switching_percent(results).mean:.1f} % of the time. No backlog "
        "builds up that would delay the next one."
    )


def _case(amplitude: float, period_s: float, effort: Effort, delay_s: float = 0.0) -> Case:
    scenario = auctions(
        amplitude,
        period_s,
        _RATE,
        duration_s=effort.choose(600, 20),
        cluster={"move_delay": AUCTION_MOVE_S + delay_s},
    )
    return Case(scenario, "streamswitch", SWITCH | {"epsilon": 0.2})


def _figures(results: Sequence[Result]) -> tuple[Cell, ...]:
    return success(results), executors(results), events(results), switching_s(results), switching_percent(results)


_PAPER_WAVES = {_WAVES[0]: "60 events", _WAVES[-1]: "below 80 %, over 130 events"}
_PAPER_DELAYS = {1.0: 6.0, 2.0: 13.0}


def _falls(found: Found, order: Sequence[Any], text: str) -> Claim:
    first, last = success(found[order[0]]).mean, success(found[order[-1]]).mean
    return Claim(text, last < first, f"{first:.2f} to {last:.2f} %")


def _related(found: Found) -> Claim:
    shares = [switching_percent(results).mean for results in found.values()]
    rates = [success(results).mean for results in found.values()]
    correlation = float(np.corrcoef(shares, rates)[0, 1])
    return Claim("the success rate falls with the time spent on switching", correlation < 0, f"r = {correlation:.2f}")


_BURST_NOTE = (
    "A switch waits until both executors have come to the barrier, then for the state transfer. So it takes longer "
    "with a larger backlog, as in the paper, where it takes 0.5 s at first and over a second at last."
)
_DELAY_NOTE = (
    "The delay is added to the state transfer, while both executors wait. What they cannot serve meanwhile is in their "
    "queues before the next barrier, which makes the next switch longer than the delay."
)


def _draw(figure: Any, found: Found, labels: Sequence[str]) -> None:
    grid = figure.subplots(2, 2)
    series = {
        "success, %": [success(results) for results in found.values()],
        "executors": [executors(results) for results in found.values()],
        "switching events": [events(results) for results in found.values()],
        "time in switching, %": [switching_percent(results) for results in found.values()],
    }
    for axes, (title, means) in zip(grid.flat, series.items(), strict=True):
        axes.errorbar(
            range(len(means)), [m.mean for m in means], [m.half_width or 0 for m in means], marker="o", capsize=3
        )
        axes.set_xticks(range(len(labels)), labels, fontsize=7)
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)


_SETTING = "Switch(0.2) on 30,000 records/s, executors of 10,000/s. The state transfer of a switch takes 0.3 s. "

REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig14",
        figure="Figure 14",
        title="limits: large and fast changes of the load",
        run=burstier,
        setting=_SETTING + "A run takes ten minutes.",
    ),
    Reproduction(
        name="streamswitch-fig15",
        figure="Figure 15",
        title="limits: slow switches",
        run=slower,
        setting=_SETTING + "Amplitude 10,000/s, period 90 s; a run takes ten minutes.",
    ),
)
