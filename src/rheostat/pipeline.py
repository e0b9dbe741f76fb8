"""A topology on Spark under control: queries, pools of executors, meter and control loop, started and stopped as one.

    with rheostat.pipeline(topology, sla="2s/10s", directory="runs/words") as running:
        running.wait("10m")

Started again with the same directory it goes on where it was: queries from their checkpoints, the plan from the
journal.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from pyspark.sql import SparkSession

from rheostat.duration import Duration, seconds
from rheostat.journal import A_DAY, Journal
from rheostat.loop.controller import Controller, Listener
from rheostat.loop.options import LoopOptions
from rheostat.names import OperatorName
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import Snapshot
from rheostat.spark.act.no_pools import NoPools
from rheostat.spark.act.pools import Pools
from rheostat.spark.act.serving_pool import Together
from rheostat.spark.act.task_counts import dealt_by
from rheostat.spark.cluster.embedded import ClusterAddress, EmbeddedCluster, NodeStatus
from rheostat.spark.observe.meter import Meter
from rheostat.spark.plant import SparkPlant
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.sinks import Sink
from rheostat.spark.session import Setting, build_session
from rheostat.topology import Topology

JOURNAL = "journal.db"
_LOG = logging.getLogger("rheostat")
_PATIENCE_S = 30.0
_SMALL_EXECUTORS: dict[str, Setting] = {"spark.executor.cores": 1, "spark.executor.memory": "768m"}
"""On a cluster of our own an executor is one slot; without a number it would take all cores of its node."""


class Running:
    """A topology that runs; made by `start`. As a context manager it stops at the end."""

    def __init__(self, runtime: Runtime, plant: SparkPlant, controller: Controller, closing: ExitStack) -> None:
        self.runtime, self.plant, self.controller = runtime, plant, controller
        self._closing = closing
        self._loop = threading.Thread(target=controller.run, name="rheostat", daemon=True)
        self._loop.start()

    @property
    def plan(self) -> Plan:
        """What is wanted now."""
        return self.controller.plan

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until it is stopped or `timeout` has passed (False); raises the error if a query fails."""
        return self.runtime.wait(None if timeout is None else seconds(timeout, "timeout"))

    def stop(self) -> None:
        """End the loop, let every query finish its batch, and let go of what `start` took. Again, it does nothing."""
        self.controller.stop()
        self._loop.join(_PATIENCE_S)
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def start(
    topology: Topology,
    *,
    sla: str | SLA | Sequence[SLA] = (),
    policy: str | type[Policy] = "threshold",
    options: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    executors: Mapping[str, int] | int = 1,
    standby: Mapping[str, int] | None = None,
    directory: Path | str = "rheostat-run",
    spark: SparkSession | None = None,
    master: str | None = None,
    cluster: EmbeddedCluster | ClusterAddress | None = None,
    settings: Mapping[str, Setting] | None = None,
    sinks: Mapping[str, Sink | Path | str] | None = None,
    fused: Iterable[Sequence[str]] = (),
    shared: Iterable[Sequence[str]] = (),
    nodes: Mapping[str, str] | None = None,
    period: Duration = "1s",
    cooldown: Duration = 0,
    effect_window: Duration = 0,
    dry_run: bool = False,
    listeners: Sequence[Listener] = (),
) -> Running:
    """Start `topology` on Spark and keep it at `sla` within `budget`.

    It runs in the session `spark`, or in one made for `master` or `cluster` with Spark's `settings`, which ends
    with it. `executors` and `standby` are what it starts with, by operator, unless the journal in `directory` knows
    better. Each group of operators in `shared` has one pool of executors, each in `fused` one query as well, until a
    decision says otherwise. `nodes` pins an operator's pool to a node. Results go to `sinks`, by operator; by default
    to files in `directory`. The journal there keeps the last snapshots, a day of them at one a second.
    """
    goal = Goal(topology, _slas(sla), budget or Budget())
    decider = make_policy(policy, goal, options)
    loop = LoopOptions(period, cooldown=cooldown, effect_window=effect_window, dry_run=dry_run)
    initial = Plan.initial(topology, executors, standby=standby, shared=shared, fused=fused)
    folder = Path(directory)
    with ExitStack() as undo:
        session = spark or undo.enter_context(_session(topology.name, master, cluster, settings))
        pools: list[Pools | NoPools] = []
        runtime = Runtime(
            topology,
            session,
            folder,
            sinks=sinks,
            fused=initial.fused,
            placement=lambda operator, df: pools[0].place(operator, df),
        )
        undo.callback(runtime.directory.release)
        journal = undo.enter_context(Journal(folder / JOURNAL, keep_snapshots=A_DAY))
        resumed = journal.resume(topology)
        plan = initial if resumed is None else resumed.plan
        pools.append(_pools(session, topology, plan, nodes, folder, lambda: runtime.fused))
        undo.callback(pools[0].close)
        plant = SparkPlant(
            topology, pools[0], lambda: meter.read(), dealt_by(runtime), runtime, lambda: meter.groupings()
        )
        meter = Meter(
            runtime,
            session,
            plant.clock,
            lambda: pools[0].report,
            names={node.host: node.name for node in _nodes_of(cluster)},
            cores={node.host: node.cores for node in _nodes_of(cluster)},
            base=_last_snapshot(journal),
        )
        plant.start()
        undo.callback(plant.stop)
        runtime.start()
        undo.callback(runtime.stop)
        controller = Controller(plant, decider, goal, journal, loop, plan=plan, listeners=listeners)
        plant.apply(plan)
        return Running(runtime, plant, controller, undo.pop_all())


def run(topology: Topology, *, for_: Duration | None = None, **options: Any) -> None:
    """Start `topology` as `start` does, and stop it after `for_`, on Ctrl-C, or with the error of a failed query."""
    with start(topology, **options) as running:
        try:
            running.wait(for_)
        except KeyboardInterrupt:
            _LOG.info("stopping after the batches under way")


def _slas(sla: str | SLA | Sequence[SLA]) -> tuple[SLA, ...]:
    if isinstance(sla, str):
        return (SLA.parse(sla),)
    return (sla,) if isinstance(sla, SLA) else tuple(sla)


@contextmanager
def _session(
    name: str,
    master: str | None,
    cluster: EmbeddedCluster | ClusterAddress | None,
    settings: Mapping[str, Setting] | None,
) -> Iterator[SparkSession]:
    """A session that ends with its block."""
    spark = build_session(name, master, cluster, {**(_SMALL_EXECUTORS if cluster else {}), **(settings or {})})
    try:
        yield spark
    finally:
        spark.stop()


def _pools(
    spark: SparkSession,
    topology: Topology,
    plan: Plan,
    nodes: Mapping[str, str] | None,
    folder: Path,
    together: Together,
) -> Pools | NoPools:
    master = str(spark.sparkContext.master)
    if master.startswith("local") and not master.startswith("local-cluster"):
        return NoPools(plan)
    # An operator that shares a pool now may have one of its own later.
    by_pool = {
        **(nodes or {}),
        **{plan.pool_of.get(OperatorName(name), name): node for name, node in (nodes or {}).items()},
    }
    return Pools(spark, topology, plan, nodes=by_pool, directory=str(folder.absolute()), together=together)


def _nodes_of(cluster: EmbeddedCluster | ClusterAddress | None) -> tuple[NodeStatus, ...]:
    """Those of a cluster that we started; of others Spark tells only the hosts that have executors."""
    return tuple(cluster.status().nodes) if isinstance(cluster, EmbeddedCluster) else ()


def _last_snapshot(journal: Journal) -> Snapshot | None:
    recorded = journal.last_recorded(1)
    return recorded[-1].snapshot if recorded else None
