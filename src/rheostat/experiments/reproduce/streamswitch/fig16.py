"""Figure 16: an end-to-end latency bound, divided between two operators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.streamswitch.path_success import PathSuccess
from rheostat.experiments.reproduce.streamswitch.workloads import SAMZA, SLOT_S, SUBSTREAMS, SWITCH
from rheostat.experiments.reproduce.sweep import Case, scenario_of
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate

_BOUND_S = 2.0
_SHARES_S = ((0.5, 1.5), (0.75, 1.25), (1.0, 1.0), (1.25, 0.75), (1.5, 0.5))
_SENTENCES_PER_S, _WORDS = 15_000.0, 4.0
_EXECUTORS = {"split": 10, "count": 20}
_UTILISATION = 0.75
_PERIOD_S = 300.0
_SWING = 0.25
"""Relative amplitude."""

_NEARLY_ALL = 99.9
"""Per cent of windows from which on shares do not differ."""

_AT_RUN_TIME = "at run time"
Setting = tuple[float, float] | str


@dataclass(frozen=True)
class EndToEndRun:
    """The result of one run, and the share of windows that met the bound end to end."""

    result: Result
    end_to_end: float


Found = Mapping[Setting, Sequence[EndToEndRun]]


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    duration_s = effort.choose(_PERIOD_S, 10.0)
    settings: list[Setting] = [*_SHARES_S, _AT_RUN_TIME]
    found: dict[Setting, list[EndToEndRun]] = {}
    for done, setting in enumerate(settings, start=1):
        found[setting] = [_run(_case(setting, duration_s), seed) for seed in range(effort.seeds)]
        progress(done / len(settings))
    return ReproductionResult(
        columns=("shares of L (s)", "split (%)", "count (%)", "end to end (%)", "end to end: paper (%)", "executors"),
        rows=tuple(
            (
                _name(setting),
                _operator(found[setting], "split") if isinstance(setting, tuple) else None,
                _operator(found[setting], "count") if isinstance(setting, tuple) else None,
                end_to_end(found[setting]),
                _paper(setting),
                mean_of([run.result.mean_executors for run in found[setting]]),
            )
            for setting in settings
        ),
        claims=_claims(found),
        notes=(_NOTE,),
        draw=lambda figure: _draw(figure, found),
    )


def _run(case: Case, seed: int) -> EndToEndRun:
    scorer = PathSuccess("split", "count", latency_s=_BOUND_S, window_s=1.0)
    result = simulate(case.scenario, case.policy, case.options, seed=seed, watchers=[scorer])
    return EndToEndRun(result, scorer.rate)


def _paper(setting: Setting) -> str | None:
    if setting == _AT_RUN_TIME:
        return None
    return "97 to 99, the best" if setting == (1.25, 0.75) else "97 to 99"


def _name(setting: Setting) -> str:
    return setting if isinstance(setting, str) else f"({setting[0]}, {setting[1]})"


def _case(setting: Setting, duration_s: float) -> Case:
    """Either given shares, each with an SLA for its score, or shares that the policy determines itself."""
    options = SWITCH | {"epsilon": 0.2}
    if isinstance(setting, str):
        return Case(word_count({}, duration_s), "streamswitch", options)
    bounds = dict(zip(_EXECUTORS, setting, strict=True))
    return Case(word_count(bounds, duration_s), "streamswitch", options | {"L": bounds, "T": 1.0})


def word_count(bounds_s: Mapping[str, float], duration_s: float) -> Scenario:
    """Sentences → split → count. Both operators are partitioned, as in Samza."""
    load = {"shape": "sine", "base": _SENTENCES_PER_S, "amplitude": _SWING * _SENTENCES_PER_S, "period": _PERIOD_S}
    slas: list[dict[str, Any]] = [{"latency": _BOUND_S, "window": "1s"}]
    slas += [{"latency": bound_s, "window": "1s", "operator": name} for name, bound_s in bounds_s.items()]
    return scenario_of(
        name="word count",
        duration=duration_s,
        period=SLOT_S,
        source=[{"name": "sentences", "load": load, "keys": {"uniform": 1000}}],
        operator=[
            _operator_table(
                "split", "sentences", _SENTENCES_PER_S, {"selectivity": _WORDS, "keys": {"zipf": 0.5, "keys": 1000}}
            ),
            _operator_table("count", "split", _WORDS * _SENTENCES_PER_S, {}),
        ],
        sla=slas,
        budget={"total": 60},
        cluster=SAMZA,
    )


def _operator_table(name: str, source: str, rate: float, fields: dict[str, Any]) -> dict[str, Any]:
    """An operator whose executors are busy 75 % of their time at `rate`."""
    mean_s = _UTILISATION * _EXECUTORS[name] / rate
    table = {"name": name, "inputs": [source], "key": "key", "substreams": SUBSTREAMS, "executors": _EXECUTORS[name]}
    return table | {"service": {"mean": mean_s}, "state_bytes": 1e6} | fields


def _operator(runs: Sequence[EndToEndRun], name: str) -> Mean:
    return mean_of([100 * (run.result.operators[name].success_rate or 0.0) for run in runs])


def end_to_end(runs: Sequence[EndToEndRun]) -> Mean:
    return mean_of([100 * run.end_to_end for run in runs])


def _claims(found: Found) -> tuple[Claim, ...]:
    rates = {setting: end_to_end(found[setting]).mean for setting in _SHARES_S}
    split = [_operator(found[setting], "split").mean for setting in _SHARES_S]
    count = [_operator(found[setting], "count").mean for setting in _SHARES_S]
    best = max(rates, key=lambda setting: rates[setting])
    fairest = max(_SHARES_S, key=lambda s: min(_operator(found[s], "split").mean, _operator(found[s], "count").mean))
    own, lowest = end_to_end(found[_AT_RUN_TIME]).mean, min(rates.values())
    none_is_best = (
        f"All shares meet {lowest:.2f} % of the windows or more, so that none are best." if lowest > _NEARLY_ALL else ""
    )
    return (
        Claim(
            "the success rate of an operator grows with its share",
            split[-1] > split[0] and count[0] > count[-1],
            f"split {split[0]:.2f} to {split[-1]:.2f} %, count {count[-1]:.2f} to {count[0]:.2f} %",
            why=f"Even the smallest share is enough here: it holds in {min(*split, *count):.2f} % of the windows."
            if min(*split, *count) > _NEARLY_ALL
            else "",
        ),
        Claim(
            "end to end the success rate is 97 % or more",
            lowest > 97,
            f"{lowest:.2f} % at least",
        ),
        Claim(
            "the best shares end to end are those with the best minimum over the two operators, (1.25, 0.75) in the "
            "paper",
            best == fairest,
            f"{_name(best)} has {rates[best]:.2f} %; the minimum is best with {_name(fairest)}",
            given=none_is_best,
            why=none_is_best,
        ),
        Claim(
            "shares that are adjusted at run time are as good as the best fixed shares",
            own > rates[best] - 0.5,
            f"{own:.2f} % and {rates[best]:.2f} %",
        ),
    )


_NOTE = (
    "The success rate of an operator is the mean over its substreams. End to end it is the mean over all pairs of a "
    "substream of each operator, because the mean over all records would hide the delay of a few substreams. The last "
    "row has no shares to score: the policy only has the end-to-end bound."
)


def _draw(figure: Any, found: Found) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True)
    names = [_name(setting) for setting in _SHARES_S]
    for name, marker in (("split", "o"), ("count", "s")):
        means = [_operator(found[setting], name) for setting in _SHARES_S]
        upper.errorbar(
            names, [m.mean for m in means], [m.half_width or 0 for m in means], marker=marker, label=name, capsize=3
        )
    whole = [end_to_end(found[setting]) for setting in _SHARES_S]
    lower.errorbar(
        names, [m.mean for m in whole], [m.half_width or 0 for m in whole], marker="o", capsize=3, label="fixed shares"
    )
    lower.axhline(end_to_end(found[_AT_RUN_TIME]).mean, linestyle="--", color="tab:green", label="adjusted at run time")
    upper.set_ylabel("operators, %")
    lower.set_ylabel("end to end, %")
    lower.set_xlabel("shares of L of split and count, s")
    for axes in (upper, lower):
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)


REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig16",
        figure="Figure 16",
        title="an end-to-end bound over two operators",
        run=run,
        setting="Word count: 15,000 sentences/s on average, four words each, on 10 and 20 executors that are busy 75 % "
        "of their time at that rate; L = 2 s, T = 1 s. The load varies by 25 % with a period of five minutes; a run is "
        "one period.",
    ),
)
