"""Applications of the Ra-Stream paper, and its cluster."""

from dataclasses import dataclass, replace
from typing import Any, Self

from rheostat.experiments.reproduce.sweep import scenario_of
from rheostat.experiments.scenario import Scenario

NODES, SLOTS, CORES = 14, 4, 2
NODE_HOP_MS, PROCESS_HOP_MS = 2.8, 0.2
NODE_COST_MS, PROCESS_COST_MS = 0.13, 0.05
MEMORY = 0.15
IO_MS, NODE_IO_MS = 0.33, 0.03
"""I/O of a node for each record, and for one from another node in addition."""

LIGHT_IO_MS = 0.1
"""I/O with which the highest rates of figure 13 are possible at all."""

CLUSTER: dict[str, Any] = {
    "nodes": [{"name": f"node-{number}", "slots": SLOTS, "cores": CORES} for number in range(1, NODES + 1)],
    "process_hop": f"{PROCESS_HOP_MS}ms",
    "node_cost": f"{NODE_COST_MS}ms",
    "process_cost": f"{PROCESS_COST_MS}ms",
    "node_io": f"{NODE_IO_MS}ms",
    "start": "500ms",
    "timeout": "30s",
}
WORKERS = {"processes": 2, "process_executors": 2}
KEYS = 600


@dataclass(frozen=True)
class RaStreamApplication:
    """An application; its operators are written as in a scenario file."""

    name: str
    operators: tuple[dict[str, Any], ...]

    def with_tasks(self, operator: str, tasks: int) -> Self:
        """The same with another number of tasks of one operator."""
        changed = (each | {"executors": tasks} if each["name"] == operator else each for each in self.operators)
        return replace(self, operators=tuple(changed))

    def scenario(
        self,
        load: Any,
        duration_s: float,
        period: str = "1s",
        io_ms: float = IO_MS,
        node_hop_ms: float = NODE_HOP_MS,
    ) -> Scenario:
        """The application under `load`, a rate or a shape; a record needs `io_ms` of a node's I/O at each operator, and
        `node_hop_ms` from node to node."""
        return scenario_of(
            name=self.name,
            duration=duration_s,
            period=period,
            source=[{"name": "input", "load": load, "keys": {"uniform": KEYS}}],
            operator=[operator | {"io": f"{io_ms}ms"} for operator in self.operators],
            cluster=CLUSTER | {"node_hop": f"{node_hop_ms}ms"},
        )


def _operator(name: str, inputs: str, tasks: int, service_ms: float, **more: Any) -> dict[str, Any]:
    grouping = {} if "key" in more or inputs == "input" else {"grouping": "nearest"}
    return {
        "name": name,
        "inputs": [inputs],
        "executors": tasks,
        "service": {"mean": f"{service_ms}ms"},
        "memory": MEMORY,
        **grouping,
        **more,
    }


WORD_COUNT = RaStreamApplication(
    "word count",
    (
        _operator("read", "input", 5, 0.1),
        _operator("split", "read", 5, 0.2),
        _operator("count", "split", 5, 0.125, key="word", substreams=60),
        _operator("output", "count", 5, 0.075),
    ),
)
UNEVEN_WORD_COUNT = (
    WORD_COUNT.with_tasks("read", 4).with_tasks("split", 6).with_tasks("count", 6).with_tasks("output", 4)
)
"""The same number of tasks, in the proportions of the paper's figure 2."""

DEBS = RaStreamApplication(
    "DEBS 2024",
    (
        _operator("read", "input", 5, 0.1),
        _operator("filter", "read", 5, 0.125, selectivity=0.9),
        _operator("detect", "filter", 5, 0.225, outputs={"events": 1.0, "suspects": 0.4}),
        _operator("aggregate", "detect.events", 5, 0.175, selectivity=0.5, key="drive", substreams=60),
        _operator("store", "aggregate", 3, 0.15),
        _operator("anomaly", "detect.suspects", 3, 0.25, selectivity=0.3),
        _operator("alert", "anomaly", 1, 0.15),
    ),
)
APPLICATIONS = (WORD_COUNT, DEBS)
