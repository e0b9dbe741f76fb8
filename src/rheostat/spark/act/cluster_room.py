"""Cluster room: how many executors a standalone cluster can give to an application. Other clusters do not tell.

The master answers the driver's own protocol with the port of its page, and the page tells what each worker has free.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rheostat.describe import executors
from rheostat.errors import ConfigError, PlantError
from rheostat.plan import Plan
from rheostat.sla import Budget
from rheostat.spark.act.actuators.resource_profiles import ExecutorSize
from rheostat.spark.cluster.master_page import MasterPage, read_master_page
from rheostat.spark.master_url import standalone_masters, why_unreachable

_PORTS_REQUEST = "org.apache.spark.deploy.master.MasterMessages$BoundPortsRequest$"
_PORTS_ANSWER = "org.apache.spark.deploy.master.MasterMessages$BoundPortsResponse"
_ROOM_TIMEOUT_S = 10.0
_MAX_AGE_S = 1.0
"""How old an answer may be: workers come and go rarely, and the reconciler asks ten times a second."""

_PAGE_TIMEOUT_S = 2.0
_RETRY_S = 60.0
"""A page behind a firewall is asked for rarely: the reconciler waits for the answer."""

_LOG = logging.getLogger(__name__)


def room_on(page: MasterPage, application_id: str, size: ExecutorSize, larger_by: int = 0) -> int | None:
    """How many executors of `size` the application can have: those that fit into what is free, and its own.

    None if the master does not know the application, because it was restarted for example.
    `larger_by` is how many cores more than `size` its executors of other sizes have that stay.
    """
    free = sum(
        min((worker.cores - worker.coresused) // size.cores, (worker.memory - worker.memoryused) // size.memory_mb)
        for worker in page.workers
        if worker.state == "ALIVE"
    )
    own = next((app.cores for app in page.activeapps if app.id == application_id), None)
    return None if own is None else max(0, free) + max(0, own - larger_by) // size.cores


def check_room(
    plan: Plan, budget: Budget, room: Callable[[], int | None], *, reserved: int, size: ExecutorSize
) -> None:
    """Refuse to start what the cluster has too little room for, and warn where it has less than the budget.

    Executors of an application that has just ended may still be there, so a cluster that looks full is asked again.
    """
    least = {pool: budget.bounds(plan.sharing(pool)).least for pool in plan.pools}
    needed = sum(least.values()) + reserved
    why = f"{', '.join(f'{count} for {pool!r}' for pool, count in least.items())}, {reserved} for sources"
    if budget.total is not None and budget.total < needed:
        raise ConfigError(f"a budget of {executors(budget.total)} is below the {needed} that are needed: {why}")
    deadline_s = time.monotonic() + _ROOM_TIMEOUT_S
    while (found := room()) is not None and found < needed and time.monotonic() < deadline_s:
        time.sleep(_MAX_AGE_S)
    if found is not None and found < needed:
        raise PlantError(
            f"{executors(needed)} of {size} are needed at least ({why}), and the cluster has room for {found}: add "
            "workers, end other applications, let operators share pools, or set a smaller spark.executor.cores and "
            "spark.executor.memory"
        )
    if found is not None and budget.total is not None and found < budget.total:
        _LOG.warning("the budget is %s, and the cluster has room for %d of %s", executors(budget.total), found, size)


class StandaloneRoom:
    """Asks the master of one application, and the setting `spark.cores.max`. On other clusters the answer is None."""

    def __init__(self, spark: SparkSession, size: ExecutorSize) -> None:
        context = spark.sparkContext
        self._size, self._application_id = size, str(context.applicationId)
        self._web_urls = _web_urls(spark)
        limit = context.getConf().get("spark.cores.max")
        self._cores_max = int(limit) // size.cores if limit and self._web_urls else None
        self._ask_from_s = 0.0
        self._room: int | None = None

    def read(self, registered: int, larger_by: int = 0) -> int | None:
        """How many executors the application can have in all; None when nobody answers.

        There is room for those that are `registered`, whatever the page says: a master that has just been restarted
        may not know all of them yet.
        """
        if time.monotonic() >= self._ask_from_s:
            page = self._page()
            self._ask_from_s = time.monotonic() + (_RETRY_S if page is None else _MAX_AGE_S)
            room = None if page is None else room_on(page, self._application_id, self._size, larger_by)
            self._room = min((limit for limit in (room, self._cores_max) if limit is not None), default=None)
        return None if self._room is None else max(self._room, registered)

    def _page(self) -> MasterPage | None:
        """Of the master that is not on standby."""
        pages = (read_master_page(url, _PAGE_TIMEOUT_S) for url in self._web_urls)
        return next((page for page in pages if page is not None and page.status == "ALIVE"), None)


def _web_urls(spark: SparkSession) -> list[str]:
    """The pages of all standalone masters. Spark would wait two minutes for one that does not answer."""
    urls = []
    for host, port in standalone_masters(str(spark.sparkContext.master)):
        if why_unreachable(host, port) is None:
            with suppress(Py4JError):
                urls.append(f"http://{host}:{_web_port(spark, host, port)}")
    return urls


def _web_port(spark: SparkSession, host: str, port: int) -> int:
    jvm: Any = spark.sparkContext._jvm
    rpc = spark.sparkContext._jsc.sc().schedulerBackend().rpcEnv()
    master = rpc.setupEndpointRef(jvm.org.apache.spark.rpc.RpcAddress(host, port), "Master")
    request = jvm.java.lang.Class.forName(_PORTS_REQUEST).getField("MODULE$").get(None)
    answer_type = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName(_PORTS_ANSWER))
    return int(master.askSync(request, answer_type).webUIPort())
