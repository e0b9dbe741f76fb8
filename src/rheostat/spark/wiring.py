"""Wiring: constructs Spark plants, top to bottom: state, runtime, reconciler, meter, plant."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from rheostat.clock import WallClock
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.sla import Budget
from rheostat.snapshot import Snapshot
from rheostat.spark.act.application_pools import ApplicationPool, DefaultPool, DriverPool
from rheostat.spark.act.cluster_room import check_room
from rheostat.spark.act.execute import Execution
from rheostat.spark.act.executor_pools import NoExecutors, ProfilePools, has_executors
from rheostat.spark.act.reconciler import Reconciler
from rheostat.spark.cluster.status import NodeStatus
from rheostat.spark.kafka.stream_topics import KafkaStreams
from rheostat.spark.observe.application_meter import ApplicationMeter
from rheostat.spark.observe.meter import SparkMeter
from rheostat.spark.observe.node_usage import NodeUsage
from rheostat.spark.observe.operators.operator_meter import operator_meters
from rheostat.spark.observe.query_progress import StreamingQueries
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.plant import SparkPlant
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.sinks import Sink
from rheostat.spark.state.query_groups import QueryGroups
from rheostat.spark.state.spark_state import SparkState
from rheostat.spark.streams.topic_streams import TopicStreams
from rheostat.topology import Topology


class TopologyPlant(NamedTuple):
    """A topology that runs on Spark: the plant, and its queries."""

    plant: SparkPlant
    runtime: Runtime


@contextmanager
def topology_plant(
    spark: SparkSession,
    topology: Topology,
    plan: Plan,
    directory: RunDirectory,
    *,
    sinks: Mapping[str, Sink | Path | str] | None = None,
    streams: KafkaStreams | None = None,
    nodes: Mapping[str, str] | None = None,
    known_nodes: Sequence[NodeStatus] = (),
    budget: Budget | None = None,
    base: Snapshot | None = None,
    source_interval_s: float = 0.0,
) -> Iterator[TopologyPlant]:
    """Run `topology` as `plan` says until the block ends. What the cluster has too little room for is refused.

    `streams` are Kafka topics for the streams between operators, which are files otherwise. `nodes` pins pools to
    nodes, by operator. `known_nodes` are those of a cluster of our own. `base` is the last snapshot of an earlier run:
    counters continue from there. Sources start a batch every `source_interval_s` at most.
    """
    groups, clock, can_fuse = QueryGroups(directory.queries), WallClock(), streams is None
    with ExitStack() as ending:
        pools: ProfilePools | NoExecutors
        if has_executors(spark):
            # An operator that shares a pool now may have one of its own later.
            own = {PoolName(name): node for name, node in (nodes or {}).items()}
            shared = {plan.pool_of[OperatorName(name)]: node for name, node in (nodes or {}).items()}
            pinned = {**own, **shared}
            place = str(directory.path)
            bounds = budget or Budget()
            least = {name: bounds.minimum(name) for name in topology.operators}
            pools = ProfilePools(
                spark,
                topology,
                plan,
                groups=groups.now,
                nodes=pinned,
                least=least,
                directory=place,
                can_fuse=can_fuse,
            )
            ending.callback(pools.close)
            check_room(plan, bounds, pools.room, reserved=pools.rules.reserved or 0, size=pools.size)
        else:
            pools = NoExecutors(topology, plan, can_fuse=can_fuse)
        state = SparkState(pools.book, pools.placement, groups)
        kind = None if streams is None else TopicStreams(streams, directory.streams)
        runtime = Runtime(
            topology,
            spark,
            directory,
            sinks=sinks,
            streams=kind,
            placement=state.placement,
            groups=groups,
            source_interval_s=source_interval_s,
        )
        reconciler = Reconciler(state, pools, Execution(pools.actuators(runtime)), pools.rules, clock, plan)
        usage = NodeUsage({n.host: n.name for n in known_nodes}, {n.host: n.cores for n in known_nodes})
        meter = SparkMeter(state, operator_meters(runtime, base), StatusStore(spark), usage, clock, base)
        reconciler.start()
        ending.callback(reconciler.stop)
        runtime.start()
        ending.callback(runtime.stop)
        yield TopologyPlant(SparkPlant(meter, reconciler), runtime)


class AttachedPlant(NamedTuple):
    """An application that is attached to: the plant, and the pool of all its executors."""

    plant: SparkPlant
    pool: ApplicationPool


@contextmanager
def attached_plant(
    spark: SparkSession, topology: Topology, *, dry_run: bool, weights: Mapping[str, float] | None = None
) -> Iterator[AttachedPlant]:
    """The application of `spark` as a plant until the block ends. `topology` has one operator, for all its queries,
    whose latencies have these `weights`.

    Nothing can be changed on a local master, whether it is a dry run or not.
    """
    clock, is_local = WallClock(), not has_executors(spark)
    with ExitStack() as ending:
        pool: ApplicationPool = (
            DriverPool(spark, topology) if is_local else DefaultPool(spark, topology, take_over=not dry_run)
        )
        ending.callback(pool.close)
        state = SparkState(pool.book, pool.placement)
        reconciler = Reconciler(state, pool, Execution(pool.actuators()), pool.rules, clock)
        queries = StreamingQueries(spark)
        ending.callback(queries.close)
        operators = [ApplicationMeter(topology, queries, weights=weights)]
        meter = SparkMeter(state, operators, StatusStore(spark, driver_serves=is_local), NodeUsage(), clock)
        reconciler.step()
        reconciler.start()
        ending.callback(reconciler.stop)
        yield AttachedPlant(SparkPlant(meter, reconciler), pool)
