"""Applications of the DRS paper: logo detection in videos (VLD) and frequent patterns in tweets (FPD).

The paper states neither rates nor service times. They are chosen so that the model recommends the paper's allocations;
what is then measured is a result. As on Storm, every executor has its own queue, records are hashed to executors, and
they cross a network of five machines. The features of a frame arrive in bulk.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rheostat.experiments.reproduce.sweep import scenario_of
from rheostat.experiments.reproduce.turn_log import Sizes
from rheostat.experiments.scenario import Scenario

K_MAX = 22
AS_PUBLISHED: dict[str, Any] = {
    "model": "mmk",
    "arrivals": "measured",
    "sum_over": "tuples",
    "surge": False,
    "margin": 0,
    "reallocation_cost": 0,
    "keep": 0,
}
"""DRS as published: no margin, no cost of an action, arrivals as measured."""

FEATURES = 8
"""Feature tuples per frame, emitted all at once."""

MANY_LOGOS_S = (0.440, 0.06625, 0.002)
FEW_LOGOS_S = (0.193, 0.038, 0.002)
"""Mean times to extract a frame, to match a feature tuple, to aggregate one. The first fits 22 executors at 13 frames
a second, the second fits 7 to 11 executors at 5 to 12 frames a second."""

_TWEETS_PER_S = 320.0
_PATTERNS, _LOOP, _FOUND = 3.0, 0.05, 0.1
_FPD_S = (0.0125, 0.0091, 0.01682)
"""Mean times to generate candidates, to look one up, to report one."""


def logo_detection(
    allocation: Sizes,
    *,
    fps: Any,
    services_s: tuple[float, ...],
    match_scv: float = 1.0,
    frames: str = "random",
    match: Mapping[str, Any] = MappingProxyType({}),
    **fields: Any,
) -> Scenario:
    """VLD: frames → extract → match → aggregate, frames evenly spaced at a rate of `fps` (a load).

    `frames` says how frames find an executor, `match` changes how features are matched.
    """
    extract_s, match_s, aggregate_s = services_s
    return _scenario(
        "logo detection",
        [{"name": "frames", "load": fps, "scv": 0}],
        [
            _operator("extract", "frames", extract_s, selectivity=FEATURES, emission="bulk", bulk=FEATURES)
            | {"grouping": frames},
            _operator("match", "extract", match_s, scv=match_scv) | dict(match),
            _operator("aggregate", "match", aggregate_s),
        ],
        allocation,
        **fields,
    )


def pattern_detection(allocation: Sizes, **fields: Any) -> Scenario:
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
        **fields,
    )


def varying_fps(low: float, high: float) -> dict[str, Any]:
    """A frame rate drawn each second from a uniform distribution between `low` and `high`."""
    return {"shape": "erratic", "low": low, "high": high, "interval": "1s", "peak_chance": 0}


def _operator(name: str, source: str, mean_s: float, *, scv: float = 1.0, **fields: Any) -> dict[str, Any]:
    service = {"mean": mean_s, "distribution": "lognormal", "scv": scv}
    return {"name": name, "inputs": [source], "grouping": "random", "service": service, **fields}


def _scenario(name: str, sources: list[Any], operators: list[Any], allocation: Sizes, **fields: Any) -> Scenario:
    """One turn per minute, as in DRS. `cluster` in `fields` adds to the settings of the five machines."""
    machines = [{"name": f"machine{number}", "slots": 5} for number in range(5)]
    cluster = {"nodes": machines, "node_hop": "5ms", "start": 0} | fields.pop("cluster", {})
    sized = [operator | {"executors": size} for operator, size in zip(operators, allocation, strict=True)]
    defaults = {"period": "1m", "budget": {"total": K_MAX}}
    return scenario_of(name=name, source=sources, operator=sized, cluster=cluster, **(defaults | fields))
