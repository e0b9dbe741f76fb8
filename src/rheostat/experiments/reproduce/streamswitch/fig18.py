"""Figure 18: the two engines, one that pauses the executors of a switch and one that aligns them at a barrier first."""

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.experiments.reproduce.reproduction import Claim, Effort, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.streamswitch.result_means import events, executors, success, switching_s
from rheostat.experiments.reproduce.streamswitch.workloads import FLINK, SWITCH, orders
from rheostat.experiments.reproduce.sweep import Case, sweep
from rheostat.experiments.result import Result

_ENGINES: dict[str, dict[str, Any]] = {"Samza": {}, "Flink": FLINK}
_SESSION_S = 7200.0
"""As in the paper, four hours in all: an opening of a session is the longest of switches with barriers, and its weight
decides."""

_PAPER = {"Samza": (96.28, 8.40), "Flink": (95.24, 8.39)}


def run(effort: Effort, progress: Progress) -> ReproductionResult:
    session_s = effort.choose(_SESSION_S, 60)
    cases = {
        name: Case(orders(session_s, cluster=settings), "streamswitch", SWITCH | {"epsilon": 0.2})
        for name, settings in _ENGINES.items()
    }
    found = sweep(cases, effort, progress)
    return ReproductionResult(
        columns=(
            "engine",
            "success: paper (%)",
            "success: here (%)",
            "executors: paper",
            "executors: here",
            "events",
            "seconds per event",
        ),
        rows=tuple(
            (
                name,
                _PAPER[name][0],
                success(runs),
                _PAPER[name][1],
                executors(runs),
                events(runs),
                switching_s(runs),
            )
            for name, runs in found.items()
        ),
        claims=_claims(found),
        draw=lambda figure: _draw(figure, found),
    )


def _claims(found: Mapping[str, Sequence[Result]]) -> tuple[Claim, ...]:
    samza, flink = found["Samza"], found["Flink"]
    return (
        Claim(
            "with barriers the success rate is slightly lower",
            -3 < success(flink).mean - success(samza).mean < 0,
            f"{success(flink).mean - success(samza).mean:+.2f} points, -1.04 in the paper",
            why="A switch takes longer (last column), because the two executors first drain what an opening has left; "
            "the paper says the same.",
        ),
        Claim(
            "both use the same number of executors",
            abs(executors(flink).mean - executors(samza).mean) < 0.5,
            f"{executors(samza).mean:.2f} and {executors(flink).mean:.2f}",
        ),
    )


def _draw(figure: Any, found: Mapping[str, Sequence[Result]]) -> None:
    axes = figure.subplots()
    for name, runs in found.items():
        axes.plot(executors(runs).mean, success(runs).mean, "o", label=f"{name}, here")
        axes.plot(_PAPER[name][1], _PAPER[name][0], "*", markersize=10, label=f"{name}, paper")
    axes.set_xlabel("executors, mean")
    axes.set_ylabel("success rate, %")
    axes.legend()
    axes.grid(alpha=0.3)


REPRODUCTIONS = (
    Reproduction(
        name="streamswitch-fig18",
        figure="Figure 18",
        title="two engines",
        run=run,
        setting="Switch(0.2) on the limit orders of figure 5, for four hours as in the paper. Samza pauses the two "
        "executors of a switch; with Flink they first do what is before the barrier in their queues.",
    ),
)
