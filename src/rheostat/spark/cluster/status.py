"""Cluster status: the nodes and applications of an embedded cluster, as its master sees them."""

from collections.abc import Iterable

import msgspec

from rheostat.errors import PlantError
from rheostat.spark.cluster.address import ClusterAddress
from rheostat.spark.cluster.master_page import MasterPage, read_master_page
from rheostat.spark.cluster.node import Node


class NodeStatus(msgspec.Struct, frozen=True):
    """One node; `alive` is False when the master lost it or never had it."""

    name: str
    host: str
    alive: bool
    cores: int
    cores_used: int
    memory_mb: int
    memory_used_mb: int
    labels: tuple[str, ...]

    @property
    def cores_free(self) -> int:
        return self.cores - self.cores_used if self.alive else 0


class ApplicationStatus(msgspec.Struct, frozen=True):
    """An application that runs, or waits for executors."""

    id: str
    name: str
    cores: int
    state: str


class ClusterStatus(msgspec.Struct, frozen=True):
    """The cluster at one moment."""

    master_url: str
    web_url: str
    logs: str
    nodes: tuple[NodeStatus, ...]
    applications: tuple[ApplicationStatus, ...]


def cluster_status(address: ClusterAddress, nodes: Iterable[Node]) -> ClusterStatus:
    """The status of the cluster at `address`, made of `nodes`; `PlantError` if its master does not answer."""
    page = read_master_page(address.web_url)
    if page is None:
        raise PlantError(f"the master at {address.web_url} does not answer (logs: {address.logs})")
    return ClusterStatus(
        master_url=address.master_url,
        web_url=address.web_url,
        logs=str(address.logs),
        nodes=tuple(node_status(node, page) for node in nodes),
        applications=tuple(ApplicationStatus(a.id, a.name, a.cores, a.state) for a in page.activeapps),
    )


def node_status(node: Node, page: MasterPage) -> NodeStatus:
    found = page.worker_offering(node.resources[0])
    if found is None:
        return NodeStatus(node.name, "", False, node.cores, 0, node.memory_mb, 0, node.labels)
    return NodeStatus(
        name=node.name,
        host=found.host,
        alive=found.state == "ALIVE",
        cores=found.cores,
        cores_used=found.coresused,
        memory_mb=found.memory,
        memory_used_mb=found.memoryused,
        labels=node.labels,
    )
