"""What traffic costs by its way: within a process, between processes, between nodes (Ra-Stream eq. 22 and 23)."""

import msgspec
import numpy as np

from rheostat.errors import ConfigError
from rheostat.placement.graph import TaskGraph


class Costs(msgspec.Struct, frozen=True):
    """Seconds that a record takes from task to task: `process_s` is C_CP, `node_s` is C_CN; within a process 0."""

    process_s: float = 0.0002
    node_s: float = 0.001

    def __post_init__(self) -> None:
        if not 0 <= self.process_s <= self.node_s:
            raise ConfigError(
                f"costs must rise with the way: 0 <= between processes {self.process_s!r} <= between nodes "
                f"{self.node_s!r}"
            )


class Ways(msgspec.Struct, frozen=True):
    """Records per second by the way they take."""

    within_process: float
    between_processes: float
    between_nodes: float

    def cost(self, costs: Costs) -> float:
        """Seconds on the way for each second: what eq. 22 and 23 count savings from."""
        return self.between_processes * costs.process_s + self.between_nodes * costs.node_s


def ways(graph: TaskGraph, scheme: np.ndarray, processes: np.ndarray) -> Ways:
    """The traffic of `graph` by level, under a scheme of nodes and processes."""
    near = np.equal(*scheme[graph.ends].T)
    same = near & np.equal(*processes[graph.ends].T)
    return Ways(
        within_process=float(graph.rates[same].sum() + graph.own.sum()),
        between_processes=float(graph.rates[near & ~same].sum()),
        between_nodes=float(graph.rates[~near].sum()),
    )
