"""Applications of the DRS paper: logo detection in videos (VLD) and frequent patterns in tweets (FPD).

The paper states neither rates nor service times. They are chosen so that the model recommends the paper's allocations;
what is then measured is a result. As on Storm, every executor has its own queue, and records cross a network of five
machines. As in the authors' own topologies, frames, features and tweets are dealt to executors in turn (Storm's shuffle
grouping), all others are hashed. The features of a frame arrive in bulk.
"""

from dataclasses import dataclass
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

IN_TURN, HASHED = "round-robin", "random"
"""How a record finds its executor."""


@dataclass(frozen=True)
class Detection:
    """What logo detection does with a frame: mean times to extract its features, to match a tuple of them and to
    aggregate one, and how many tuples it emits, all at once."""

    extract_s: float
    match_s: float
    aggregate_s: float
    features: int


MANY_LOGOS = Detection(0.440, 0.06625, 0.002, features=8)
FEW_LOGOS = Detection(0.210, 0.080, 0.004, features=4)
"""The first fits 22 executors at 13 frames a second, the second 7 to 11 executors at 5 to 12 frames a second."""

_TWEETS_PER_S = 320.0
_PATTERNS, _LOOP, _FOUND = 3.0, 0.05, 0.1
_FPD_S = (0.0125, 0.0091, 0.01682)
"""Mean times to generate candidates, to look one up, to report one."""


def logo_detection(
    allocation: Sizes,
    *,
    fps: Any,
    detection: Detection,
    extract_scv: float = 1.0,
    match_scv: float = 1.0,
    frames: str = IN_TURN,
    features: str = IN_TURN,
    **fields: Any,
) -> Scenario:
    """VLD: frames → extract → match → aggregate, frames evenly spaced at a rate of `fps` (a load).

    `frames` and `features` say how they find an executor.
    """
    count = detection.features
    return _scenario(
        "logo detection",
        [{"name": "frames", "load": fps, "scv": 0}],
        [
            _operator("extract", "frames", detection.extract_s, scv=extract_scv)
            | {"grouping": frames, "selectivity": count, "emission": "bulk", "bulk": count},
            _operator("match", "extract", detection.match_s, scv=match_scv) | {"grouping": features},
            _operator("aggregate", "match", detection.aggregate_s),
        ],
        allocation,
        **fields,
    )


def pattern_detection(allocation: Sizes, *, candidates: str = HASHED, **fields: Any) -> Scenario:
    """FPD: tweets enter and leave a window → generate candidates → detect, with a loop to itself → report.

    `candidates` says how these, and what is found, find an executor.
    """
    generate_s, detect_s, report_s = _FPD_S
    return _scenario(
        "pattern detection",
        [{"name": name, "load": _TWEETS_PER_S / 2} for name in ("enter", "leave")],
        [
            _operator("generate", "enter", generate_s, selectivity=_PATTERNS, emission="poisson")
            | {"inputs": ["enter", "leave"], "grouping": IN_TURN},
            _operator("detect", "generate", detect_s)
            | {"inputs": ["generate", "detect.again"], "outputs": {"again": _LOOP, "found": _FOUND}}
            | {"grouping": candidates},
            _operator("report", "detect.found", report_s) | {"grouping": candidates},
        ],
        allocation,
        **fields,
    )


def varying_fps(low: float, high: float) -> dict[str, Any]:
    """A frame rate drawn each second from a uniform distribution between `low` and `high`."""
    return {"shape": "erratic", "low": low, "high": high, "interval": "1s", "peak_chance": 0}


def _operator(name: str, source: str, mean_s: float, *, scv: float = 1.0, **fields: Any) -> dict[str, Any]:
    service = {"mean": mean_s, "distribution": "lognormal", "scv": scv}
    return {"name": name, "inputs": [source], "grouping": HASHED, "service": service, **fields}


def _scenario(name: str, sources: list[Any], operators: list[Any], allocation: Sizes, **fields: Any) -> Scenario:
    """One turn per minute, as in DRS. `cluster` in `fields` adds to the settings of the five machines."""
    machines = [{"name": f"machine{number}", "slots": 5} for number in range(5)]
    cluster = {"nodes": machines, "node_hop": "5ms", "start": 0} | fields.pop("cluster", {})
    sized = [operator | {"executors": size} for operator, size in zip(operators, allocation, strict=True)]
    defaults = {"period": "1m", "budget": {"total": K_MAX}}
    return scenario_of(name=name, source=sources, operator=sized, cluster=cluster, **(defaults | fields))
