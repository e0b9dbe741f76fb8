"""Attach: a Spark application that runs already, as a topology of one operator.

Nothing about its queries changes, so it cannot be known which executor serves which query: all executors of the default
profile are one pool, and all queries together are one operator. Each query appears as a stream into it.
"""

from typing import Any

from pyspark.sql import SparkSession

from rheostat.errors import ConfigError, PlantError
from rheostat.names import OperatorName
from rheostat.spark.act.executor_pools import has_executors
from rheostat.spark.observe.application_meter import ROWS_OF_EXECUTORS
from rheostat.spark.observe.query_totals import ESTIMATED
from rheostat.topology import Operator, Source, Topology

OPERATOR = OperatorName("application")
QUERIES = "queries"

STANDING_PROBLEMS = frozenset({ESTIMATED, ROWS_OF_EXECUTORS})
"""What cannot be measured of any application that is attached to."""


def application_topology(spark: SparkSession) -> Topology:
    """The application of `spark` as a topology."""
    return Topology(str(spark.sparkContext.appName), [Source(QUERIES), Operator(OPERATOR, inputs=QUERIES)])


def check_session(spark: object) -> None:
    """Refuse what is no session, or one whose executors cannot be controlled, and say why."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise PlantError(
            "this is a Spark Connect session, which has no control of executors: "
            "attach in the driver program, to a session built with a master URL"
        )
    if not isinstance(spark, SparkSession):
        raise ConfigError(f"{spark!r} is no Spark session: give the SparkSession in which the queries were started")
    if has_ended(spark):
        raise PlantError(
            f"the session of application {spark.sparkContext.appName!r} is stopped: attach to one that runs"
        )


def check_controllable(spark: SparkSession) -> None:
    """Refuse a session whose executors cannot be changed, and say why."""
    check_session(spark)
    if not has_executors(spark):
        master = spark.sparkContext.master
        raise PlantError(f"master {master!r} has no executors to add or remove: use a session on a cluster")


def has_ended(spark: SparkSession) -> bool:
    """Whether the application of `spark` has stopped."""
    context: Any = spark.sparkContext._jsc
    return context is None or bool(context.sc().isStopped())
