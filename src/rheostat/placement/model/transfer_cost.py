"""Transfer cost of traffic: within a process, between processes, between nodes (Ra-Stream eq. 22 and 23)."""

import msgspec
import numpy as np

from rheostat.errors import ConfigError
from rheostat.placement.model.task_graph import TaskGraph


class Costs(msgspec.Struct, frozen=True):
    """Seconds that a record takes from task to task: between processes (C_CP), between nodes (C_CN); else 0."""

    process_s: float = 0.0002
    node_s: float = 0.001

    def __post_init__(self) -> None:
        if not 0 <= self.process_s <= self.node_s:
            raise ConfigError(
                f"costs must rise with the distance: 0 <= between processes {self.process_s!r} <= between nodes "
                f"{self.node_s!r}"
            )


class Ways(msgspec.Struct, frozen=True):
    """Records per second within processes, between processes, and between nodes."""

    within_process: float
    between_processes: float
    between_nodes: float

    def cost(self, costs: Costs) -> float:
        """Transfer seconds per second, from which eq. 22 and 23 compute savings."""
        return self.between_processes * costs.process_s + self.between_nodes * costs.node_s


def ways(graph: TaskGraph, scheme: np.ndarray, processes: np.ndarray) -> Ways:
    """The traffic of `graph` under a scheme of nodes and processes."""
    same_node = np.equal(*scheme[graph.ends].T)
    same_process = same_node & np.equal(*processes[graph.ends].T)
    return Ways(
        within_process=float(graph.rates[same_process].sum() + graph.own.sum()),
        between_processes=float(graph.rates[same_node & ~same_process].sum()),
        between_nodes=float(graph.rates[~same_node].sum()),
    )
