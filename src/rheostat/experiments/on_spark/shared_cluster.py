"""Shared cluster: one embedded cluster for all runs of a comparison, started for the first of them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node

CLUSTER_SLOTS = 16
"""More than the cores of most machines: the work of operators is waiting."""


class SharedCluster:
    """A cluster that is started when it is first asked for, and stops with the block."""

    def __init__(self) -> None:
        self._ending = ExitStack()
        self._cluster: EmbeddedCluster | None = None

    def __enter__(self) -> "SharedCluster":
        return self

    def __exit__(self, *exception: object) -> None:
        self._cluster = None
        self._ending.close()

    def started(self) -> EmbeddedCluster:
        if self._cluster is None:
            self._cluster = self._ending.enter_context(
                EmbeddedCluster([Node("one", cores=CLUSTER_SLOTS, memory="12g")])
            )
        return self._cluster


_shared: list[SharedCluster] = []


@contextmanager
def shared_cluster() -> Iterator[SharedCluster]:
    """Runs within the block that name no cluster share one."""
    with SharedCluster() as cluster:
        _shared.append(cluster)
        try:
            yield cluster
        finally:
            _shared.remove(cluster)


@contextmanager
def cluster_for_a_run() -> Iterator[EmbeddedCluster]:
    """The shared cluster; where there is none, one for this run alone."""
    if _shared:
        yield _shared[-1].started()
        return
    with SharedCluster() as cluster:
        yield cluster.started()
