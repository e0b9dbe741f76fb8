"""Figures 10 and 11: l and δ matter little for success, and more for what is done."""

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Outcome, Progress, Reproduction
from rheostat.experiments.reproduce.streamswitch.figures import executors, success
from rheostat.experiments.reproduce.streamswitch.workloads import SLOT_S, auctions
from rheostat.experiments.reproduce.sweep import Case, sweep
from rheostat.experiments.result import Result

_VALUES_S = (0.02, 0.05, 0.1, 0.2, 0.5)
_RATE = 200.0
_PERIOD_S = 120.0
Setting = tuple[str, float]
"""Which of the two differs from 0.1 s, and its value in seconds."""

Found = Mapping[Setting, Sequence[Result]]


def run(effort: Effort, progress: Progress) -> Outcome:
    settings: list[Setting] = [(name, value_s) for name in ("l", "δ") for value_s in _VALUES_S]
    duration_s = _PERIOD_S * effort.choose(1, 0.5)
    found = sweep({setting: _case(setting, duration_s) for setting in settings}, effort, progress)
    return Outcome(
        columns=("varied", "value (s)", "success (%)", "executors", "scale-outs and -ins", "load balances"),
        rows=tuple(
            (
                name,
                value_s,
                success(found[name, value_s]),
                executors(found[name, value_s]),
                *_treatments(found[name, value_s]),
            )
            for name, value_s in settings
        ),
        claims=_claims(found),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, found),
    )


def _case(setting: Setting, duration_s: float) -> Case:
    name, value_s = setting
    alert_s, slot_s = (value_s, SLOT_S) if name == "l" else (SLOT_S, value_s)
    scenario = auctions(1500.0, _PERIOD_S, _RATE, duration_s=duration_s, period_s=slot_s)
    return Case(scenario, "streamswitch", {"l": alert_s, "delta": slot_s, "epsilon": 0.2})


def _treatments(results: Sequence[Result]) -> tuple[Mean, Mean]:
    """Scalings and load balances in a run."""
    return tuple(mean_of([float(x.decisions.get(kind, 0)) for x in results]) for kind in ("scale", "move"))  # type: ignore[return-value]


def _claims(found: Found) -> tuple[Claim, ...]:
    rates = [success(results).mean for results in found.values()]
    usual = executors(found["l", 0.1]).mean
    sharpest, slowest = executors(found["l", 0.02]).mean, executors(found["δ", 0.5]).mean
    scalings = {value_s: _treatments(found["l", value_s])[0].mean for value_s in _VALUES_S}
    return (
        Claim(
            "success depends little on l and δ", max(rates) - min(rates) < 3, f"{min(rates):.2f} to {max(rates):.2f} %"
        ),
        Claim(
            "a few more executors are used at l = 0.02 s and at δ = 0.5 s",
            sharpest > usual and slowest > usual,
            f"{sharpest:.2f} and {slowest:.2f}, instead of {usual:.2f}",
        ),
        Claim(
            "with a high l there are more scalings than with a low one",
            scalings[0.5] > scalings[0.02],
            f"{scalings[0.5]:.1f} at 0.5 s, {scalings[0.02]:.1f} at 0.02 s",
        ),
    )


_NOTE = (
    "The wave is five times as fast as in the paper, so that more treatments are needed in a minute; δ also is the "
    "period of the loop, and a treatment that takes longer than δ holds up the next."
)


def _draw(figure: Any, found: Found) -> None:
    grid = figure.subplots(2, 2, sharex=True)
    for column, name in enumerate(("l", "δ")):
        rates = [success(found[name, value_s]) for value_s in _VALUES_S]
        numbers = [executors(found[name, value_s]).mean for value_s in _VALUES_S]
        grid[0][column].errorbar(_VALUES_S, [m.mean for m in rates], [m.half_width or 0 for m in rates], marker="o")
        grid[0][column].set_ylabel("success, %")
        twin = grid[0][column].twinx()
        twin.plot(_VALUES_S, numbers, "s--", color="tab:orange")
        twin.set_ylabel("executors", color="tab:orange")
        for place, label in enumerate(("scale-outs and -ins", "load balances")):
            counts = [_treatments(found[name, value_s])[place].mean for value_s in _VALUES_S]
            grid[1][column].plot(_VALUES_S, counts, marker="o", label=label)
        grid[1][column].set_xscale("log")
        grid[1][column].set_xlabel(f"{name}, s")
        grid[1][column].legend(fontsize=7)


REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig10",
        figure="Figures 10 and 11",
        title="what l and δ change",
        run=run,
        setting="Switch(0.2) on 1,500 ± 1,500 records/s with a period of 2 minutes (30 K ± 30 K and 10 minutes there), "
        "executors of 200/s; l and δ are 0.1 s unless varied.",
        also=("streamswitch-fig11",),
    ),
)
