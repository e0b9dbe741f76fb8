"""Figure 16: an end-to-end bound, shared out between two operators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Outcome, Progress, Reproduction
from rheostat.experiments.reproduce.streamswitch.path_success import PathSuccess
from rheostat.experiments.reproduce.streamswitch.workloads import SLOT_S, SUBSTREAMS, SWITCH
from rheostat.experiments.reproduce.sweep import Case, scenario_of
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.simulate import simulate

_BOUND_S = 2.0
_SHARES_S = ((0.5, 1.5), (0.75, 1.25), (1.0, 1.0), (1.25, 0.75), (1.5, 0.5))
_SENTENCES_PER_S, _WORDS = 750.0, 4.0
_EXECUTORS = {"split": 10, "count": 20}
_UTILISATION = 0.75
_PERIOD_S = 80.0
_SWING = 2 / 3
"""As in the middle of the paper's figure 14."""

_AT_RUN_TIME = "at run time"
Setting = tuple[float, float] | str


@dataclass(frozen=True)
class Run:
    """What came of one run, and how often the bound was met end to end."""

    result: Result
    end_to_end: float


Found = Mapping[Setting, Sequence[Run]]


def run(effort: Effort, progress: Progress) -> Outcome:
    duration_s = effort.choose(3, 1) * _PERIOD_S
    settings: list[Setting] = [*_SHARES_S, _AT_RUN_TIME]
    found: dict[Setting, list[Run]] = {}
    for done, setting in enumerate(settings, start=1):
        found[setting] = [_run(_case(setting, duration_s), seed) for seed in range(effort.seeds)]
        progress(done / len(settings))
    return Outcome(
        columns=("shares of L (s)", "split (%)", "count (%)", "end to end (%)", "paper, end to end (%)", "executors"),
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


def _run(case: Case, seed: int) -> Run:
    judge = PathSuccess("split", "count", latency_s=_BOUND_S, window_s=1.0)
    result = simulate(case.scenario, case.policy, case.options, seed=seed, watchers=[judge])
    return Run(result, judge.rate)


def _paper(setting: Setting) -> str | None:
    if setting == _AT_RUN_TIME:
        return None
    return "97 to 99, the best" if setting == (1.25, 0.75) else "97 to 99"


def _name(setting: Setting) -> str:
    return setting if isinstance(setting, str) else f"({setting[0]}, {setting[1]})"


def _case(setting: Setting, duration_s: float) -> Case:
    """Shares that are told, each with an SLA by which it is scored, or shares that the policy finds for itself."""
    options = SWITCH | {"epsilon": 0.2}
    if isinstance(setting, str):
        return Case(word_count({}, duration_s), "streamswitch", options)
    bounds = dict(zip(_EXECUTORS, setting, strict=True))
    return Case(word_count(bounds, duration_s), "streamswitch", options | {"L": bounds, "T": 1.0})


def word_count(bounds_s: Mapping[str, float], duration_s: float) -> Scenario:
    """Sentences → split → count. Both are partitioned, as in Samza."""
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
        cluster={"pause": "executors", "start": "1s", "move_delay": "300ms"},
    )


def _operator_table(name: str, source: str, rate: float, told: dict[str, Any]) -> dict[str, Any]:
    """So fast that its executors are busy for three quarters of their time at `rate`."""
    mean_s = _UTILISATION * _EXECUTORS[name] / rate
    table = {"name": name, "inputs": [source], "key": "key", "substreams": SUBSTREAMS, "executors": _EXECUTORS[name]}
    return table | {"service": {"mean": mean_s}, "state_bytes": 1e5} | told


def _operator(runs: Sequence[Run], name: str) -> Mean:
    return mean_of([100 * (run.result.operators[name].success_rate or 0.0) for run in runs])


def end_to_end(runs: Sequence[Run]) -> Mean:
    return mean_of([100 * run.end_to_end for run in runs])


def _claims(found: Found) -> tuple[Claim, ...]:
    rates = {setting: end_to_end(found[setting]).mean for setting in _SHARES_S}
    split = [_operator(found[setting], "split").mean for setting in _SHARES_S]
    count = [_operator(found[setting], "count").mean for setting in _SHARES_S]
    best = max(rates, key=lambda setting: rates[setting])
    fairest = max(_SHARES_S, key=lambda s: min(_operator(found[s], "split").mean, _operator(found[s], "count").mean))
    own = end_to_end(found[_AT_RUN_TIME]).mean
    return (
        Claim(
            "an operator succeeds more often the larger its share",
            split[-1] > split[0] and count[0] > count[-1],
            f"split {split[0]:.1f} to {split[-1]:.1f} %, count {count[-1]:.1f} to {count[0]:.1f} %",
        ),
        Claim(
            "end to end most are between 97 and 99 % or above",
            min(rates.values()) > 97,
            f"{min(rates.values()):.2f} % at least",
        ),
        Claim(
            "the best end to end is where the worse of the two operators is best, (1.25, 0.75) there",
            best == fairest,
            f"{_name(best)} has {rates[best]:.2f} %; the worse operator is best at {_name(fairest)}",
        ),
        Claim(
            "shares that are adjusted at run time are as good as the best fixed ones",
            own > rates[best] - 0.5,
            f"{own:.2f} % and {rates[best]:.2f} %",
        ),
    )


_NOTE = (
    "Success of an operator is the mean over its substreams. End to end it is judged in the same way, over all ways "
    "through one substream of each: in the mean over all records together it does not show what a few substreams wait "
    "for. What the shares do to the operators is as in the paper; end to end they differ by less than the runs do, so "
    "that the best shares are not settled here. The last row has no shares to score: the policy was told the end-to- "
    "end bound alone."
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
        setting="Word count: 750 sentences/s on average (15 K there), four words each, on 10 and 20 executors that are "
        "busy for 75 % of their time at that rate; L = 2 s, T = 1 s; four minutes a run. The paper's load "
        "swings by 25 % in 5 minutes, under which few windows are missed here; this one swings by two thirds "
        "in 80 s, as in the middle of the paper's figure 14.",
    ),
)
