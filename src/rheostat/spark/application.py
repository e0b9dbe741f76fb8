"""A whole Spark application as one plant: all its streaming queries, served by the executors of the default profile.

Nothing about the queries changes, so there is no telling which executor serves which query: all executors are one
pool, and all queries together are one operator. Queries that start or end later change nothing about that. Each
query appears in the snapshot as a stream into the operator.

An executor counts as one, whatever its number of slots: it is useful all the time when all its slots are.
"""

from typing import Any

from pyspark.sql import SparkSession

from rheostat.capabilities import Capabilities
from rheostat.clock import Clock, WallClock
from rheostat.describe import executors as count
from rheostat.duration import human
from rheostat.errors import PlantError
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.snapshot import OperatorState, Snapshot, StreamState
from rheostat.spark.act.allocation import Allocation
from rheostat.spark.act.dynamic_allocation import OwnAllocation
from rheostat.spark.draining import Farewell
from rheostat.spark.executor_numbers import Crew
from rheostat.spark.observe.application_totals import Ledger
from rheostat.spark.observe.executor_time import useful_times
from rheostat.spark.observe.node_usage import Nodes
from rheostat.spark.observe.query_progress import Queries
from rheostat.spark.observe.status_store import StatusStore
from rheostat.topology import Operator, Source, Topology

OPERATOR = OperatorName("application")
_POOL = PoolName(OPERATOR)
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
        self._status = StatusStore(spark)
        self._ledger = Ledger(Queries(spark))
        self._nodes = Nodes()
        self._crew = Crew()
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
        living = [executor.profile for executor in self._status.executors()]
        self._totals = {profile: living.count(profile) for profile in living} | others
        return targets is not None

    def hand_back(self) -> str | None:
        """Let Spark allocate again if it did before, from the executors that live now on; why not, if it cannot."""
        return self._own_allocation.restore({**self._totals, _DEFAULT_PROFILE: self._crew.size})

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def observe(self) -> Snapshot:
        if self.ended:
            raise PlantError("the Spark application has ended")
        self._ledger.update()
        self._look()
        ledger, time_s = self._ledger, self.clock.now()
        executors = self._crew.states(_POOL, self._nodes.names)
        known = ledger.running > 0
        return Snapshot(
            time_s=time_s,
            operator_states=(
                OperatorState(
                    OPERATOR,
                    arrived=ledger.rows + ledger.behind if known else None,
                    completed=ledger.rows if known else None,
                    queued=ledger.behind if known else None,
                    busy_s=self._crew.busy_s,
                    latency=ledger.latency(),
                    batch=ledger.batch,
                ),
            ),
            executors=executors,
            streams=self._streams(),
            nodes=self._nodes.read(),
            latency=ledger.latency(),
            problems=(*ledger.problems(), *self._nodes.problems()),
        )

    def apply(self, plan: Plan) -> tuple[str, ...]:
        """Ask for as many executors as `plan` wants. Those too many get no more tasks, and go when they are free."""
        self._crew.want(plan.pool(OPERATOR).executors, self._farewell.leaving)
        self._allocation.request({**self._totals, _DEFAULT_PROFILE: plan.size(OPERATOR)})
        self._farewell.say(self._crew.leaving(), self.clock.now())
        return self._obstacles(plan.size(OPERATOR))

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        self._crew.want(plan.pool(OPERATOR).executors, self._farewell.leaving)
        return frozenset({_POOL}) if self._crew.complete else frozenset()

    def _look(self) -> None:
        seen = useful_times(self._status, self.clock.now())
        ours = [each for each in seen if each.executor.profile == _DEFAULT_PROFILE and each.executor.is_active]
        executors = [each.executor for each in ours]
        self._crew.see(executors, {each.executor.id: each.useful_s for each in ours})
        self._nodes.see(executors)

    def _streams(self) -> tuple[StreamState, ...]:
        by_query = self._ledger.by_query()
        arrived = self._ledger.rows + self._ledger.behind if by_query else None
        queries = [StreamState(name, OPERATOR, rows=rows) for name, rows in by_query.items()]
        return (StreamState(QUERIES, OPERATOR, rows=arrived), *queries)

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
