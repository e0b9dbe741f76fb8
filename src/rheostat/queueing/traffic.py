"""Traffic equations λ = λ_ext + Pᵀλ: the arrival rate of each operator of a topology.

P holds the share of an operator's input that each stream carries on: the split times the selectivity, so a row may sum
to more than 1. They are solved loop by loop, downstream; operators outside loops need no linear algebra.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from rheostat.errors import TopologyError, nearest
from rheostat.graph import spectral_radius, strong_components
from rheostat.queueing.models.model import Floats

Name = TypeVar("Name", bound=str)

_NEVER_DIES_OUT = 1.0 - 1e-9
"""A loop that multiplies its traffic a billionfold counts as one that never ends."""


class Route(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """A stream: each tuple that `source` completes leads to `share` tuples for `target`, on average."""

    source: str
    target: str
    share: float = 1.0


def arrival_rates(
    operators: Sequence[Name], external: Mapping[Name, float], routes: Sequence[Route]
) -> dict[Name, float]:
    """The arrival rate of each operator, given the rates from outside and the streams between operators.

    A loop that returns as much as it gets has no solution: the error names its operators.
    """
    _check(operators, external, routes)
    index: dict[str, int] = {name: i for i, name in enumerate(operators)}
    streams: list[dict[int, float]] = [{} for _ in operators]
    for route in routes:
        onward = streams[index[route.source]]
        onward[index[route.target]] = onward.get(index[route.target], 0.0) + route.share
    rates = [float(external.get(name, 0.0)) for name in operators]
    for component in reversed(list(strong_components({node: list(onward) for node, onward in enumerate(streams)}))):
        _settle(component, streams, rates, operators)
    return dict(zip(operators, rates, strict=True))


def _settle(
    component: list[int], streams: list[dict[int, float]], rates: list[float], operators: Sequence[str]
) -> None:
    """Compute the rates in one component, whose inflow is complete, and pass them on downstream."""
    within = np.array([[streams[i].get(j, 0.0) for j in component] for i in component])
    if within.any():
        _refuse_endless(within, [operators[i] for i in sorted(component)])
        inflow = np.array([rates[i] for i in component])
        for i, rate in zip(component, np.linalg.solve(np.eye(len(component)) - within.T, inflow), strict=True):
            rates[i] = max(float(rate), 0.0)
    members = set(component)
    for i in component:
        for j, share in streams[i].items():
            if j not in members:
                rates[j] += rates[i] * share


def _refuse_endless(within: Floats, names: list[str]) -> None:
    radius = spectral_radius(within)
    if radius >= _NEVER_DIES_OUT:
        loop = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else f"{names[0]} with itself"
        raise TopologyError(
            f"the loop of {loop} never drains: its shares have spectral radius {radius:.6g}, which must be below 1"
        )


def _check(operators: Sequence[Name], external: Mapping[Name, float], routes: Sequence[Route]) -> None:
    known: set[str] = set(operators)
    for name, rate in external.items():
        _check_known(name, known, "external rate")
        if not 0.0 <= rate < math.inf:
            raise TopologyError(f"external rate {rate!r} of {name!r} must be a number of tuples a second, 0 or more")
    for route in routes:
        for end in (route.source, route.target):
            _check_known(end, known, f"route from {route.source!r} to {route.target!r}")
        if not 0.0 <= route.share < math.inf:
            raise TopologyError(
                f"share {route.share!r} from {route.source!r} to {route.target!r} must be a number, 0 or more"
            )


def _check_known(name: str, known: set[str], where: str) -> None:
    if name not in known:
        raise TopologyError(f"{where}: there is no operator {name!r}; {nearest(name, known)}")
