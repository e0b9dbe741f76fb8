"""Attach: a Spark application that runs already, as a topology of one operator.

Nothing about its queries changes, so it cannot be known which executor serves which query: all executors of the default
profile are one pool, and all queries together are one operator. Each query appears as a stream into it.
"""

from typing import Any

from pyspark.sql import SparkSession

from rheostat.errors import PlantError
from rheostat.names import OperatorName
from rheostat.spark.act.executor_pools import has_executors
from rheostat.topology import Operator, Source, Topology

OPERATOR = OperatorName("application")
QUERIES = "queries"


def application_topology(spark: SparkSession) -> Topology:
    """The application of `spark` as a topology."""
    return Topology(str(spark.sparkContext.appName), [Source(QUERIES), Operator(OPERATOR, inputs=QUERIES)])


def check_controllable(spark: SparkSession) -> None:
    """Refuse a session whose executors cannot be changed, and say why."""
    if not hasattr(spark, "_jsparkSession"):
        raise PlantError(
            "this is a Spark Connect session, which has no control of executors: "
            "attach in the driver program, to a session built with a master URL"
        )
    if not has_executors(spark):
        master = spark.sparkContext.master
        raise PlantError(f"master {master!r} has no executors to add or remove: attach to a session on a cluster")


def has_ended(spark: SparkSession) -> bool:
    """Whether the application of `spark` has stopped."""
    context: Any = spark.sparkContext._jsc
    return context is None or bool(context.sc().isStopped())
