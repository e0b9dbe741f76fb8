"""Paid executors: what a Spark application holds of an embedded cluster over time, as the cluster's master sees it.

The master counts an executor from the moment it launches it, whoever asked for it.
"""

import threading
import time

from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.master_page import read_master_page

_EVERY_S = 0.5


class PaidExecutors:
    """Asks the master again and again until the block ends. Executors have one core each."""

    def __init__(self, cluster: EmbeddedCluster, application: str) -> None:
        self.samples: list[tuple[float, int]] = []
        self._url, self._application = cluster.address.web_url, application
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="rheostat paid executors", daemon=True)

    def __enter__(self) -> "PaidExecutors":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def executor_seconds(self, start_s: float, end_s: float) -> float:
        """The executors there were between two times, summed over time."""
        total, known = 0.0, [(time_s, number) for time_s, number in self.samples if time_s < end_s]
        ends_s = [*(time_s for time_s, _ in known[1:]), end_s]
        for (time_s, number), until_s in zip(known, ends_s, strict=True):
            total += number * max(0.0, until_s - max(time_s, start_s))
        return total

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY_S if self.samples else 0.0):
            page = read_master_page(self._url)
            for application in page.activeapps if page is not None else ():
                if application.id == self._application:
                    self.samples.append((time.time(), application.cores))
