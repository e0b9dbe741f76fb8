"""Figures 10 and 11: l and δ have little effect on the success rate, and more on the number of actions."""

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.streamswitch.result_means import executors, success
from rheostat.experiments.reproduce.streamswitch.workloads import BASE, SLOT_S, auctions
from rheostat.experiments.reproduce.sweep import Case, sweep
from rheostat.experiments.result import Result

_VALUES_S = (0.02, 0.05, 0.1, 0.2, 0.5)
_RATE = 4000.0
_PERIOD_S = 600.0
_BUNCHES = "20ms"
_ONE_BY_ONE = (("l", 0.02), ("l", 0.1), ("l", 0.5), ("δ", 0.5))
"""Settings that also run with records that arrive one by one."""

Setting = tuple[str, float]
"""The parameter that is varied, and its value in seconds; the other one is 0.1 s."""

Found = Mapping[Setting, Sequence[Result]]


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    settings: list[Setting] = [(name, value_s) for name in ("l", "δ") for value_s in _VALUES_S]
    duration_s = effort.choose(_PERIOD_S, 20.0)
    cases = {(_l_and_delta(setting), _BUNCHES): _case(setting, duration_s, batch=_BUNCHES) for setting in settings}
    cases |= {(_l_and_delta(setting), ""): _case(setting, duration_s) for setting in _ONE_BY_ONE}
    runs = sweep(cases, effort, progress)
    found = {setting: runs[_l_and_delta(setting), _BUNCHES] for setting in settings}
    alone = {setting: runs[_l_and_delta(setting), ""] for setting in _ONE_BY_ONE}
    return ReproductionResult(
        columns=(
            "varied",
            "value (s)",
            "success (%)",
            "executors",
            "latency (ms)",
            "scale-outs and scale-ins",
            "load balances",
        ),
        rows=tuple(
            (f"{name}{remark}", value_s, success(each), executors(each), _latency_ms(each), *_action_counts(each))
            for results, remark in ((found, ""), (alone, ", one by one"))
            for (name, value_s), each in results.items()
        ),
        claims=_claims(found),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, found),
    )


def _l_and_delta(setting: Setting) -> tuple[float, float]:
    name, value_s = setting
    return (value_s, SLOT_S) if name == "l" else (SLOT_S, value_s)


def _case(setting: Setting, duration_s: float, **source: Any) -> Case:
    alert_s, slot_s = _l_and_delta(setting)
    scenario = auctions(BASE, _PERIOD_S, _RATE, duration_s=duration_s, period_s=slot_s, **source)
    return Case(scenario, "streamswitch", {"l": alert_s, "delta": slot_s, "epsilon": 0.2})


def _latency_ms(results: Sequence[Result]) -> Mean:
    return mean_of([1e3 * (each.mean_latency_s or 0.0) for each in results])


def _action_counts(results: Sequence[Result]) -> tuple[Mean, Mean]:
    """Scale decisions and load balances per run."""
    return tuple(mean_of([float(x.decisions.get(kind, 0)) for x in results]) for kind in ("scale", "move"))  # type: ignore[return-value]


def _claims(found: Found) -> tuple[Claim, ...]:
    rates = [success(results).mean for results in found.values()]
    usual = executors(found["l", 0.1]).mean
    low_l, high_delta = executors(found["l", 0.02]).mean, executors(found["δ", 0.5]).mean
    scalings = {value_s: _action_counts(found["l", value_s])[0].mean for value_s in _VALUES_S}
    return (
        Claim(
            "the success rate depends little on l and δ",
            max(rates) - min(rates) < 3,
            f"{min(rates):.2f} to {max(rates):.2f} %",
        ),
        Claim(
            "slightly more executors are used with l = 0.02 s and with δ = 0.5 s",
            low_l > usual and high_delta > usual,
            f"{low_l:.2f} and {high_delta:.2f}, instead of {usual:.2f}",
        ),
        Claim(
            "there are more scale decisions with a high l than with a low one",
            scalings[0.5] > scalings[0.02],
            f"{scalings[0.5]:.1f} with 0.5 s, {scalings[0.02]:.1f} with 0.02 s",
        ),
    )


_NOTE = (
    "δ is also the period of the control loop, and an action that takes longer than δ delays the next one. A run is "
    f"one period of the load (three in the paper). Records arrive in bunches, one every {_BUNCHES[:-2]} ms, as from a "
    "buffer: with that, latencies are tens of milliseconds, as the paper's were. Where records arrive one by one (last "
    "rows) they are a few milliseconds, below every l, and l and δ decide hardly anything. With l = 0.02 s, below the "
    "usual latency, nothing is scaled in: the executors are many more, not slightly more as in the paper."
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
        for place, label in enumerate(("scale-outs and scale-ins", "load balances")):
            counts = [_action_counts(found[name, value_s])[place].mean for value_s in _VALUES_S]
            grid[1][column].plot(_VALUES_S, counts, marker="o", label=label)
        grid[1][column].set_xscale("log")
        grid[1][column].set_xlabel(f"{name}, s")
        grid[1][column].legend(fontsize=7)


REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig10",
        figure="Figures 10 and 11",
        title="the effect of l and δ",
        run=run,
        setting="Switch(0.2) on 30,000 ± 30,000 records/s with a period of ten minutes, executors of 4,000/s (not "
        "stated in the paper); l and δ are 0.1 s unless varied.",
        also=("streamswitch-fig11",),
    ),
)
