"""Topologies: the three of the paper (figures 9 and 10) as scenarios."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.experiments.reproduce.dabs.loads import DURATION_S
from rheostat.experiments.reproduce.sweep import scenario_of
from rheostat.experiments.scenario import Scenario
from rheostat.load.skew import zipf

_VALUES, _SKEW = 64, 1.5
_WORK_S, _LIGHT_S = 0.04, 0.002
_MACHINES = [{"name": f"machine{number}", "slots": 4, "cores": 2} for number in range(9)]


@dataclass(frozen=True)
class DabsTopology:
    """A topology: its operators, the one whose degree the paper shows, and the grouping of records."""

    operators: tuple[dict[str, Any], ...]
    observed: str
    grouping: str

    def scenario(self, name: str, load: dict[str, Any], restart: str | None, share: float = 1.0) -> Scenario:
        """Each operator starts with one executor. A change of degree takes 5 s for the executor to start; a `restart`
        stops the whole topology for that long and loses the backlog of the operators that change.

        With a `share` below 1 there are fewer records and each takes longer: the same work in a shorter simulation.
        """
        return scenario_of(
            name=name,
            duration=DURATION_S,
            period="10s",
            cooldown="60s",
            source=[{"name": "source", "load": {"product": [load, share]}, "keys": {"zipf": _SKEW, "keys": _VALUES}}],
            operator=[_slower(operator, share) | {"grouping": self.grouping} for operator in self.operators],
            cluster={"nodes": _MACHINES, "start": "5s", "timeout": "30s"} | _restart_settings(restart),
            budget={"total": 36},
        )


def _restart_settings(restart: str | None) -> dict[str, Any]:
    return {"restart": restart, "restart_loses": True} if restart else {}


def _slower(operator: dict[str, Any], share: float) -> dict[str, Any]:
    service = operator["service"]
    return operator | {"service": service | {"mean": service["mean"] / share}}


def _costs() -> list[float]:
    """Cost by value, with mean 1 over the Zipf distribution: 1 to 64² units in random order.

    Eight executors take 62 ms for a record at 150 records/s with the 1 to 64 units of the OSG paper and round robin,
    and 55 ms with OSG: it hardly matters who gets what. With the squares it is 116 and 81 ms.
    """
    units = np.random.default_rng(7).permutation(np.arange(1.0, _VALUES + 1)) ** 2
    return [float(cost) for cost in units / (zipf(_VALUES, _SKEW) @ units)]


def _operator(name: str, reads: str, mean_s: float, **fields: Any) -> dict[str, Any]:
    return {"name": name, "inputs": [reads], "service": {"mean": mean_s, "distribution": "fixed"}, **fields}


def _sensitive(name: str, reads: str) -> dict[str, Any]:
    service = {"mean": _WORK_S, "distribution": "fixed", "cost_by_value": _costs()}
    return {"name": name, "inputs": [reads], "service": service}


INSENSITIVE = DabsTopology(
    (_operator("bolt", "source", _WORK_S), _operator("finalize", "bolt", _LIGHT_S)), "bolt", "round-robin"
)
SENSITIVE = DabsTopology((_sensitive("bolt", "source"), _operator("finalize", "bolt", _LIGHT_S)), "bolt", "osg")
OPINION = DabsTopology(
    (
        _operator("dispatcher", "source", _LIGHT_S, outputs={"place": 0.7, "age": 0.7}),
        _sensitive("bolt", "dispatcher.place"),
        _operator("city", "bolt", 0.01, selectivity=0.5),
        _operator("age", "dispatcher.age", 0.01),
        _operator("generation", "age", 0.01, selectivity=0.5),
        _operator("persister", "city", 0.004) | {"inputs": ["city", "generation"]},
    ),
    "bolt",
    "osg",
)
