"""The paper's two applications on the simulator: logo detection in videos (VLD) and frequent patterns in tweets (FPD).

Neither rates nor service times are printed there. Chosen here are some for which the model recommends the paper's
allocations; what is then measured is a result. As on Storm every executor has a queue of its own, records are hashed
to executors, and they cross a network of five machines. A frame's features come in bulk.
"""

from typing import Any

from rheostat.experiments.reproduce.course import Sizes
from rheostat.experiments.reproduce.sweep import scenario_of
from rheostat.experiments.scenario import Scenario

K_MAX = 22
AS_PRINTED: dict[str, Any] = {
    "model": "mmk",
    "arrivals": "measured",
    "sum_over": "tuples",
    "surge": False,
    "margin": 0,
    "reallocation_cost": 0,
}
"""DRS as the paper has it: no margin, no cost of an act, arrivals as they are measured."""

FEATURES = 8
"""Tuples with features that a frame leads to, all at once."""

MANY_LOGOS_S = (0.440, 0.06625, 0.002)
FEW_LOGOS_S = (0.193, 0.038, 0.002)
"""Mean time to extract a frame, to match a tuple of features, to aggregate one. 22 executors suit the first at 13
frames a second, 7 to 11 the second at 5 to 12."""

_TWEETS_PER_S = 320.0
_PATTERNS, _LOOP, _FOUND = 3.0, 0.05, 0.1
_FPD_S = (0.0125, 0.0091, 0.01682)
"""Mean time to generate candidates, to look one up, to report one."""


def logo_detection(
    allocation: Sizes, *, fps: Any, services_s: tuple[float, ...], match_scv: float = 1.0, **told: Any
) -> Scenario:
    """VLD: frames → extract → match → aggregate, frames evenly spaced at a rate of `fps` (a load)."""
    extract_s, match_s, aggregate_s = services_s
    return _scenario(
        "logo detection",
        [{"name": "frames", "load": fps, "scv": 0}],
        [
            _operator("extract", "frames", extract_s, selectivity=FEATURES, emission="bulk", bulk=FEATURES),
            _operator("match", "extract", match_s, scv=match_scv),
            _operator("aggregate", "match", aggregate_s),
        ],
        allocation,
        **told,
    )


def pattern_detection(allocation: Sizes, **told: Any) -> Scenario:
    """FPD: tweets enter and leave a window → generate candidates → detect, with a loop to itself → report."""
    generate_s, detect_s, report_s = _FPD_S
    return _scenario(
        "pattern detection",
        [{"name": name, "load": _TWEETS_PER_S / 2} for name in ("enter", "leave")],
        [
            _operator("generate", "enter", generate_s, selectivity=_PATTERNS, emission="poisson")
            | {"inputs": ["enter", "leave"]},
            _operator("detect", "generate", detect_s)
            | {"inputs": ["generate", "detect.again"], "outputs": {"again": _LOOP, "found": _FOUND}},
            _operator("report", "detect.found", report_s),
        ],
        allocation,
        **told,
    )


def varying_fps(low: float, high: float) -> dict[str, Any]:
    """A frame rate drawn anew each second, evenly between `low` and `high`."""
    return {"shape": "erratic", "low": low, "high": high, "interval": "1s", "peak_chance": 0}


def _operator(name: str, source: str, mean_s: float, *, scv: float = 1.0, **told: Any) -> dict[str, Any]:
    service = {"mean": mean_s, "distribution": "lognormal", "scv": scv}
    return {"name": name, "inputs": [source], "grouping": "random", "service": service, **told}


def _scenario(name: str, sources: list[Any], operators: list[Any], allocation: Sizes, **told: Any) -> Scenario:
    """Looks once a minute, as DRS does. `cluster` in `told` adds to the five machines."""
    machines = [{"name": f"machine{number}", "slots": 5} for number in range(5)]
    cluster = {"nodes": machines, "node_hop": "5ms", "start": 0} | told.pop("cluster", {})
    sized = [operator | {"executors": size} for operator, size in zip(operators, allocation, strict=True)]
    defaults = {"period": "1m", "budget": {"total": K_MAX}}
    return scenario_of(name=name, source=sources, operator=sized, cluster=cluster, **(defaults | told))
