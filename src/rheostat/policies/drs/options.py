"""Options of DRS (section IV-A), and the limits that follow from them and the goal."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.errors import ConfigError
from rheostat.policies.policy import PolicyOptions
from rheostat.sla import Goal

FOREVER = "forever"
_T_MIN_SHARE = 0.45
"""T_min over T_max in the paper's experiments (450 and 1000 ms)."""

Meta = msgspec.Meta
Whole = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class DrsOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of DRS. N_m, the sampling of records, is up to the plant.

    The defaults are for use; `arrivals="measured"`, `sum_over="tuples"`, `surge=False`, `margin=0` and
    `reallocation_cost=0` are the paper's.
    """

    problem: Annotated[
        Literal["auto", "k_max", "t_max"],
        Meta(description="k_max: least latency with K_max executors (6); t_max: fewest executors within T_max (8)"),
    ] = "auto"
    k_max: Annotated[
        Whole | None, Meta(description="K_max, the most executors in all; left out: the budget's total")
    ] = None
    t_max: Annotated[
        Duration | None, Meta(description="T_max, the latency to keep; left out: that of the end-to-end SLA")
    ] = None
    t_min: Annotated[
        Duration | None, Meta(description="T_min, the latency below which executors are removed; left out: 0.45 T_max")
    ] = None
    t_ra: Annotated[
        Duration,
        Meta(description='T_ra, the least time between two actions, and before the first; "forever" only recommends'),
    ] = 0
    t_m: Annotated[Duration, Meta(description="T_m, the time between two decisions; 0: every turn of the loop")] = 0
    model: Annotated[
        Literal["auto", "mmk", "gigk", "microbatch"],
        Meta(description="queueing model; auto: microbatch where there are batches, gigk where variation is measured"),
    ] = "auto"
    arrivals: Annotated[
        Literal["routed", "measured"],
        Meta(description="routed: from the rate at the sources and the shares that streams carry on; measured (DRS)"),
    ] = "routed"
    sum_over: Annotated[
        Literal["results", "tuples"],
        Meta(
            description="what latency counts with micro-batches. results: the way of a result, which is what an SLA "
            "measures; tuples: every tuple that a record leads to (DRS eq. 4)"
        ),
    ] = "results"
    surge: Annotated[
        bool,
        Meta(
            description="where executors are too few, also count a rise that smoothing still hides, and the backlog "
            "beyond T_max as load to be drained until the next action"
        ),
    ] = True
    correction: Annotated[
        Literal["ratio", "regression", "none"],
        Meta(description="how estimates become predictions: by measured/estimated, or a line through the last ones"),
    ] = "ratio"
    margin: Annotated[
        Share, Meta(description="the share of the service rate that is not counted on (StreamSwitch's ε); DRS has 0")
    ] = 0.2
    reallocation_cost: Annotated[
        Duration, Meta(description="seconds of work lost by an action, to be outweighed until the next possible one")
    ] = "500ms"
    smoothing: Annotated[
        str, Meta(description='how measures are smoothed: "none", "alpha:0.8" (α) or "window:6" (w)')
    ] = "window:3"


class DrsLbOptions(DrsOptions, frozen=True, kw_only=True):
    """More options of DRS-LB: `margin` is ε there, the others as in `streamswitch`.

    `substreams="switched"` is DRS-LB as StreamSwitch compares itself with it, and with `balance=False` its DRS.
    """

    substreams: Annotated[
        Literal["spread", "switched"],
        Meta(description="how they follow a change of size: all spread evenly by load, or one executor at a time"),
    ] = "spread"
    balance: Annotated[bool, Meta(description="whether substreams are rebalanced while DRS holds")] = True

    l: Annotated[Duration | None, Meta(description="l of streamswitch, the alert threshold of measured latency")] = None  # noqa: E741
    L: Annotated[Duration | None, Meta(description="L of streamswitch, the latency bound of every operator")] = None
    T: Annotated[Duration | None, Meta(description="T of streamswitch, the window of rates and latencies")] = None
    delta: Annotated[Duration | None, Meta(description="δ of streamswitch, the time slot")] = None


@dataclass(frozen=True, slots=True)
class DrsLimits:
    """The options in seconds and executors. `t_max_s` is None in problem (6), `k_max` may be so in problem (8)."""

    k_max: int | None
    t_max_s: float | None
    t_min_s: float
    t_ra_s: float
    t_m_s: float
    cost_s: float
    surge: bool = True


def limits_of(options: DrsOptions, goal: Goal) -> DrsLimits:
    """The limits that `options` and `goal` set together; what they leave open is an error."""
    k_max = _k_max(options, goal)
    t_max_s = _t_max_s(options, goal)
    return DrsLimits(
        k_max=k_max,
        t_max_s=t_max_s,
        t_min_s=0.0 if t_max_s is None else _t_min_s(options, t_max_s),
        t_ra_s=math.inf if options.t_ra == FOREVER else seconds(options.t_ra, "t_ra"),
        t_m_s=seconds(options.t_m, "t_m"),
        cost_s=seconds(options.reallocation_cost, "reallocation_cost"),
        surge=options.surge,
    )


def _k_max(options: DrsOptions, goal: Goal) -> int | None:
    total, needed = goal.budget.total, sum(goal.budget.minimum(name) for name in goal.topology.operators)
    k_max = total if options.k_max is None else min(options.k_max, total or options.k_max)
    if k_max is not None and k_max < needed:
        raise ConfigError(f"k_max {k_max} is below the {needed} executors that the operators need at least")
    if k_max is None and options.problem == "k_max":
        raise ConfigError("drs needs k_max for problem 'k_max': give it, or a budget's total")
    if k_max is None and _sla_s(options, goal) is None:
        raise ConfigError(
            "drs needs an end-to-end SLA (or the option t_max), or a total number of executors (the budget's, or the "
            "option k_max); without either, name another policy, for example 'threshold', which follows utilisation"
        )
    return k_max


def _t_max_s(options: DrsOptions, goal: Goal) -> float | None:
    if options.problem == "k_max":
        return None
    t_max_s = _sla_s(options, goal)
    if t_max_s is None and options.problem == "t_max":
        raise ConfigError("drs needs t_max for problem 't_max': give it, or an end-to-end SLA")
    return t_max_s


def _sla_s(options: DrsOptions, goal: Goal) -> float | None:
    if options.t_max is not None:
        return positive_seconds(options.t_max, "t_max")
    return None if goal.end_to_end is None else goal.end_to_end.latency_s


def _t_min_s(options: DrsOptions, t_max_s: float) -> float:
    t_min_s = _T_MIN_SHARE * t_max_s if options.t_min is None else seconds(options.t_min, "t_min")
    if t_min_s >= t_max_s:
        raise ConfigError(f"t_min {human(t_min_s)} must be below t_max {human(t_max_s)}")
    return t_min_s
