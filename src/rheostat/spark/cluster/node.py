"""Node: one machine of an embedded cluster, whose labels are resources for Spark's scheduler."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rheostat.errors import ConfigError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MEMORY = re.compile(r"(\d+)([mg])b?", re.IGNORECASE)
_MB = {"m": 1, "g": 1024}


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that holds executors; in an embedded cluster, one Spark worker.

    `cores` is the number of task slots it offers. It may exceed the machine's own, since most streaming tasks wait more
    than they compute. A node can be addressed by its name and by each of its `labels`.
    """

    name: str
    cores: int = 2
    memory: str = "2g"
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for label in (self.name, *self.labels):
            check_label(label)
        if isinstance(self.cores, bool) or not isinstance(self.cores, int) or self.cores < 1:
            raise ConfigError(f"node {self.name!r} has {self.cores!r} cores: give a whole number >= 1")
        if self.memory_mb < 1:
            raise ConfigError(f"node {self.name!r} has memory {self.memory!r}: give at least '1m'")

    @property
    def memory_mb(self) -> int:
        return memory_mb(self.memory, f"memory of node {self.name!r}")

    @property
    def resources(self) -> tuple[str, ...]:
        """The Spark resources this node offers, one for its name and one for each label."""
        return tuple(resource_of(label) for label in dict.fromkeys((self.name, *self.labels)))


def nodes_alike(count: int, cores: int = 2, memory: str = "2g") -> tuple[Node, ...]:
    """`count` nodes of one size, named node-1, node-2 and so on."""
    if count < 1:
        raise ConfigError(f"a cluster of {count} nodes has no executors: give at least 1")
    return tuple(Node(f"node-{i}", cores, memory) for i in range(1, count + 1))


def nodes_for(executors: int, memory_mb: int, nodes: int = 2) -> tuple[Node, ...]:
    """Nodes alike with room for at least so many executors of one core each."""
    cores = -(-max(executors, nodes) // nodes)
    return nodes_alike(nodes, cores, f"{cores * memory_mb}m")


def resource_of(label: str) -> str:
    """The Spark resource that a resource profile requests to get executors on nodes with this label.

    Each executor takes one unit. A node offers as many as it has cores, so cores run out before labels do.
    """
    check_label(label)
    return f"node_{label}"


def check_label(label: str) -> None:
    """Names and labels become parts of Spark settings and file names, so only plain characters are allowed."""
    if not _NAME.fullmatch(label):
        raise ConfigError(f"{label!r} is not a node name or label: use letters, digits, - and _ after a letter")


def check_distinct(nodes: Iterable[Node]) -> None:
    """Refuse two nodes of the same name."""
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            raise ConfigError(f"two nodes are named {node.name!r}: give each its own name")
        seen.add(node.name)


def memory_mb(text: str, what: str) -> int:
    """Mebibytes of a size in Spark's notation, such as "512m" or "2g"."""
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f'{what} {text!r} is not a size: write it like "512m" or "2g"')
    return int(match[1]) * _MB[match[2].lower()]
