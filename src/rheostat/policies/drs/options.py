"""Options of DRS (section IV-A), and the limits that follow from them and the goal."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.policies.policy import PolicyOptions, Smoothing
from rheostat.sla import Goal

FOREVER = "forever"
T_MIN_SHARE = 0.45
"""T_min over T_max in the paper's experiments (450 and 1000 ms)."""

Meta = msgspec.Meta
Whole = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class DrsOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of DRS. N_m, the sampling of records, is up to the plant.

    The defaults are for use; `arrivals="measured"`, `sum_over="tuples"`, `surge=False`, `margin=0`,
    `keep=0` and `reallocation_cost=0` are the paper's.
    """

    problem: Annotated[
        Literal["auto", "k_max", "t_max"],
        Meta(
            description='What is wanted: "t_max" (as few executors as keep the latency), "k_max" (the least '
            'latency with a fixed number of executors), or "auto" (the first if there is an SLA). Choose '
            '"k_max" if the executors are paid for anyway.'
        ),
    ] = "auto"
    k_max: Annotated[
        Whole | None,
        Meta(
            description="Most executors of all operators together. Left out, the budget's total. Set it to stay "
            "below the budget."
        ),
    ] = None
    t_max: Annotated[
        Duration | None,
        Meta(
            description="Latency to keep, end to end, as a duration. Left out, that of the end-to-end SLA. Set it "
            "below the SLA's to have a reserve."
        ),
    ] = None
    t_min: Annotated[
        Duration | None,
        Meta(
            description="Measured latency, as a duration, below which executors may be removed. Left out, 45 % of "
            "the latency to keep. Raise it to save executors earlier, lower it if they are removed and soon needed "
            "again."
        ),
    ] = None
    t_ra: Annotated[
        Duration,
        Meta(
            description='Least time between two actions, and before the first one, as a duration. "forever" only '
            "recommends and changes nothing. Raise it if actions are expensive, for example because of large state."
        ),
    ] = 0
    keep: Annotated[
        Duration,
        Meta(
            description="How long fewer executors must have been enough before any is removed, as a duration, and "
            "how long after an action they stay as they are unless more are needed. Lengthen it if executors are "
            "removed and soon needed again; 0 acts at once."
        ),
    ] = "30s"
    t_m: Annotated[
        Duration,
        Meta(
            description="Least time between two decisions, as a duration; 0 decides at every turn of the loop. "
            "Raise it for calmer decisions without a slower loop."
        ),
    ] = 0
    model: Annotated[
        Literal["auto", "mmk", "gigk", "microbatch"],
        Meta(
            description='How the time that records wait is computed: "mmk" (random arrivals and service), "gigk" '
            '(with the measured variation of both), "microbatch" (records are processed in batches), or "auto" (by '
            "what is measured). Change it only to compare models."
        ),
    ] = "auto"
    arrivals: Annotated[
        Literal["routed", "measured"],
        Meta(
            description='Where the input rate of an operator comes from: "routed" (the rate at the sources, '
            'carried on along the streams, so that a bottleneck does not hide the load behind it) or "measured" (at '
            'the operator itself). Choose "measured" if the share of records that operators pass on changes quickly.'
        ),
    ] = "routed"
    sum_over: Annotated[
        Literal["results", "tuples"],
        Meta(
            description='What the latency of micro-batches counts: "results" (the way to a result, as the SLA '
            'does) or "tuples" (every record that an input record leads to). Change it only to compare with the '
            "published method."
        ),
    ] = "results"
    surge: Annotated[
        bool,
        Meta(
            description="Whether a rising load is answered at once: the newest rate counts as well as the smoothed "
            "one, and a backlog beyond the latency to keep is drained until the next action. Turn it off if short "
            "peaks cause more executors than they are worth."
        ),
    ] = True
    correction: Annotated[
        Literal["ratio", "regression", "none"],
        Meta(
            description='How the computed latency is adjusted to the measured one: "ratio" (by their present '
            'ratio), "regression" (by a line through the last 30 pairs) or "none". Try "regression" if the '
            "predictions in `rheostat explain` stay wrong."
        ),
    ] = "ratio"
    margin: Annotated[
        Share,
        Meta(
            description="Share of the measured capacity of an executor, from 0 to below 1, that is kept in "
            "reserve. Raise it if the SLA is missed when load rises, lower it to run with fewer executors."
        ),
    ] = 0.2
    reallocation_cost: Annotated[
        Duration,
        Meta(
            description="Time for which an action stops the pipeline, as a duration: an action is taken only if it "
            "gains more. Set it to what actions cost in your pipeline; more state, more time."
        ),
    ] = "500ms"
    smoothing: Smoothing = "window:3"


class DrsLbOptions(DrsOptions, frozen=True, kw_only=True):
    """More options of DRS-LB: `margin` is ε there, the others as in `streamswitch`.

    `substreams="switched"` is DRS-LB as StreamSwitch compares itself with it, and with `balance=False` its DRS.
    """

    substreams: Annotated[
        Literal["spread", "switched"],
        Meta(
            description='How substreams follow a change of size: "spread" (all of them evenly by load) or '
            '"switched" (one executor at a time, with few moves). Choose "switched" if moving state is expensive.'
        ),
    ] = "spread"
    balance: Annotated[
        bool,
        Meta(
            description="Whether substreams are moved between executors while the number of executors stays. Turn "
            "it off if moves disturb more than the imbalance."
        ),
    ] = True

    l: Annotated[  # noqa: E741
        Duration | None,
        Meta(
            description="Latency of an executor, as a duration, from which it counts as overloaded if its load is "
            "too high as well. Left out, a tenth of `L` or more. Raise it if substreams are moved without need."
        ),
    ] = None
    L: Annotated[
        Duration | None,
        Meta(
            description="Latency that every operator has to keep, as a duration. Left out, its SLA, or its share "
            "of the end-to-end SLA. Set it if operators need bounds other than the SLA's."
        ),
    ] = None
    T: Annotated[
        Duration | None,
        Meta(
            description="Time over which rates and latencies of executors are averaged, as a duration. Left out, "
            "the window of the SLA. Lengthen it if substreams are moved to and fro."
        ),
    ] = None
    delta: Annotated[
        Duration | None,
        Meta(
            description="Time between two looks at the executors, as a duration that is a multiple of the loop's "
            "period. Left out, the shortest that is no shorter than a batch. Lengthen it for calmer decisions."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class DrsLimits:
    """The options in seconds and executors. `t_max_s` is None in problem (6), `k_max` may be so in problem (8).

    `from_sla` says that `t_max_s` is the latency of the end-to-end SLA, `t_min_given` that `t_min_s` is no default.
    """

    k_max: int | None
    t_max_s: float | None
    t_min_s: float
    t_ra_s: float
    t_m_s: float
    cost_s: float
    keep_s: float = 0.0
    surge: bool = True
    from_sla: bool = True
    t_min_given: bool = False


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
        keep_s=seconds(options.keep, "keep"),
        surge=options.surge,
        from_sla=options.t_max is None,
        t_min_given=options.t_min is not None,
    )


def _k_max(options: DrsOptions, goal: Goal) -> int | None:
    total, needed = goal.budget.total, sum(goal.budget.minimum(name) for name in goal.topology.operators)
    k_max = total if options.k_max is None else min(options.k_max, total or options.k_max)
    if k_max is not None and k_max < needed:
        raise ConfigError(f"k_max {k_max} is below the {needed} executors that the operators need at least")
    if k_max is None and options.problem == "k_max":
        raise ConfigError("drs needs k_max for problem 'k_max': give it, or a budget's total")
    if k_max is None and _sla_s(options, goal) is None and not operator_bounds_s(options, goal):
        raise ConfigError(
            "drs needs an SLA, end to end or for operators (or the option t_max), or a total number of executors (the "
            "budget's, or the option k_max); without either, name another policy, for example 'threshold', which "
            "follows utilisation"
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


def operator_bounds_s(options: DrsOptions, goal: Goal) -> dict[OperatorName, float]:
    """The bounds that SLAs give to single operators; none where a fixed number of executors is wanted."""
    if options.problem == "k_max":
        return {}
    slas = {name: goal.sla_of(name) for name in goal.topology.operators}
    return {name: sla.latency_s for name, sla in slas.items() if sla is not None}


def _t_min_s(options: DrsOptions, t_max_s: float) -> float:
    t_min_s = T_MIN_SHARE * t_max_s if options.t_min is None else seconds(options.t_min, "t_min")
    if t_min_s >= t_max_s:
        raise ConfigError(f"t_min {human(t_min_s)} must be below t_max {human(t_max_s)}")
    return t_min_s
