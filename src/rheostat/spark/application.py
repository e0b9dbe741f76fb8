"""A whole Spark application as one plant: all its streaming queries, served by the executors of the default profile.

Nothing about the queries changes, so there is no telling which executor serves which query: all executors are one
pool, and all queries together are one operator. Queries that start or end later change nothing about that. Each
query appears in the snapshot as a stream into the operator.

An executor counts as one, whatever its number of slots: it is useful all the time when all its slots are.
"""

from typing import Any

from pyspark.sql import SparkSession

from rheostat.clock import Clock, WallClock
from rheostat.describe import executors as count
from rheostat.duration import human
from rheostat.errors import PlantError
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot
from rheostat.spark.act.allocation import Allocation
from rheostat.spark.act.dynamic_allocation import OwnAllocation
from rheostat.spark.draining import Farewell
from rheostat.spark.executor_numbers import Crew
from rheostat.spark.observe.application_meter import ApplicationMeter
from rheostat.spark.observe.meter import SparkMeter
from rheostat.spark.observe.node_usage import NodeUsage
from rheostat.spark.observe.query_progress import StreamingQueries
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.state.executor_book import SparkExecutor
from rheostat.spark.state.spark_state import SparkState
from rheostat.spark.state.stage_placement import Unplaced
from rheostat.topology import Operator, Source, Topology

OPERATOR = "application"
QUERIES = "queries"

_DEFAULT_PROFILE = 0
_PATIENCE_S = 60.0


def check_controllable(spark: SparkSession) -> None:
    """Refuse a session whose executors nobody can change, and say why."""
    if not hasattr(spark, "_jsparkSession"):
        raise PlantError(
            "this is a Spark Connect session, which has no control of executors: "
            "attach in the driver program, to a session built with a master URL"
        )
    master = str(spark.sparkContext.master)
    if master.startswith("local") and not master.startswith("local-cluster"):
        raise PlantError(f"master {master!r} has no executors to add or remove: attach to a session on a cluster")


class Application:
    """The plant. While `take_over` holds, executors come and go only as plans say; `hand_back` ends that."""

    def __init__(self, spark: SparkSession, clock: Clock | None = None) -> None:
        check_controllable(spark)
        self.topology = Topology(str(spark.sparkContext.appName), [Source(QUERIES), Operator(OPERATOR, inputs=QUERIES)])
        self.clock = clock or WallClock()
        self._context: Any = spark.sparkContext._jsc.sc()
        self._allocation = Allocation(spark)
        self._farewell = Farewell(self._allocation)
        self._own_allocation = OwnAllocation(spark)
        self._crew = Crew()
        self._state = SparkState(self._crew.book(OPERATOR), Unplaced())
        operators = [ApplicationMeter(self.topology, StreamingQueries(spark))]
        self._meter = SparkMeter(self._state, operators, StatusStore(spark), NodeUsage(), self.clock)
        self._totals: dict[int, int] = {}
        self._room = _most_executors(spark)
        self._missing_since_s: float | None = None
        self._look()

    @property
    def size(self) -> int:
        """How many executors there were at the last look."""
        return self._crew.size

    @property
    def ended(self) -> bool:
        """Whether the application has stopped."""
        return bool(self._context.isStopped())

    def take_over(self) -> bool:
        """Stop Spark's own allocation; False if the application had none."""
        targets = self._own_allocation.stop()
        others = {} if targets is None else targets
        living = [executor.profile for executor in self._allocation.executors()]
        self._totals = {profile: living.count(profile) for profile in living} | others
        return targets is not None

    def hand_back(self) -> str | None:
        """Let Spark allocate again if it did before, from the executors that live now on; why not, if it cannot."""
        return self._own_allocation.restore({**self._totals, _DEFAULT_PROFILE: self._crew.size})

    def observe(self) -> Snapshot:
        if self.ended:
            raise PlantError("the Spark application has ended")
        self._look()
        return self._meter.read()

    def apply(self, plan: Plan) -> tuple[str, ...]:
        """Ask for as many executors as `plan` wants. Those too many get no more tasks, and go when they are free."""
        self._crew.want(plan.pool(OPERATOR).executors, self._farewell.leaving)
        self._allocation.request({**self._totals, _DEFAULT_PROFILE: plan.size(OPERATOR)})
        self._farewell.say(self._crew.leaving(), self.clock.now())
        return self._obstacles(plan.size(OPERATOR))

    def reached(self, plan: Plan) -> frozenset[str]:
        self._crew.want(plan.pool(OPERATOR).executors, self._farewell.leaving)
        return frozenset({OPERATOR}) if self._crew.complete else frozenset()

    def _look(self) -> None:
        seen = [each for each in self._allocation.executors() if each.profile == _DEFAULT_PROFILE]
        self._crew.see(SparkExecutor(each.id, each.host_port, each.profile, each.slots) for each in seen)
        self._state.book = self._crew.book(OPERATOR)

    def _obstacles(self, wanted: int) -> tuple[str, ...]:
        missing, now_s = self._crew.missing, self.clock.now()
        self._missing_since_s = (self._missing_since_s or now_s) if missing else None
        if self._room is not None and wanted > self._room:
            return (f"{count(wanted)} cannot be had: spark.cores.max allows {self._room}",)
        if self._missing_since_s is None or now_s - self._missing_since_s < _PATIENCE_S:
            return ()
        return (f"{missing} of {count(wanted)} have not come in {human(_PATIENCE_S)}: the cluster may have no room",)


def _most_executors(spark: SparkSession) -> int | None:
    """What `spark.cores.max` leaves room for; None where it is not set, or not known how large an executor is."""
    conf = spark.sparkContext.getConf()
    cores, each = conf.get("spark.cores.max"), conf.get("spark.executor.cores")
    return int(cores) // int(each) if cores and each else None
