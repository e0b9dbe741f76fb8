"""Pipeline: a topology on Spark under control: queries, executors and control loop, started and stopped as one.

    with rheostat.start(topology, sla="2s/10s", directory="runs/words") as pipeline:
        pipeline.wait("10m")

Started again with the same directory it continues: queries from their checkpoints, the plan from the journal.

While the program waits, Ctrl-C (SIGINT) raises `KeyboardInterrupt` and SIGTERM `SystemExit`. The block then stops the
pipeline: running batches get a minute to finish, and the others are repeated by the next run. A second signal stops it
at once.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from pyspark.sql import SparkSession

from rheostat.duration import Duration, seconds
from rheostat.journal import A_DAY, Journal
from rheostat.loop.controller import Controller, Listener
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.policies.registry import DEFAULT_POLICY, make_policy
from rheostat.run_outcome import ServiceLog, check_all_ran
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import Snapshot
from rheostat.spark.cluster.address import ClusterAddress
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.kafka.connector import connector_settings
from rheostat.spark.kafka.stream_topics import KafkaStreams, streams_of
from rheostat.spark.kafka.topic import PREFIX
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.sinks import KafkaSink, Sink
from rheostat.spark.query.unit import topics_of
from rheostat.spark.target import SparkTarget, as_target
from rheostat.spark.wiring import TopologyPlant, topology_plant
from rheostat.stop_signals import exit_status, jobs_survive_interrupt, raised_stop_signals
from rheostat.topology import Topology
from rheostat.web.address import address_of
from rheostat.web.dashboard import Dashboard

JOURNAL = "journal.db"
_LOG = logging.getLogger("rheostat")
_LOOP_STOP_TIMEOUT_S = 30.0

_SOURCE_INTERVAL_S, _SOURCE_SHARE = 0.5, 0.1
"""Sources start a batch so often at most, or after this share of the SLA's latency: a batch costs about as much for one
record as for a thousand, on the driver too, which all queries share."""


SparkPlace = SparkTarget | SparkSession | EmbeddedCluster | ClusterAddress | str
"""Where a topology can run."""


class StartOptions(TypedDict, total=False):
    """The options of `start`, all of them optional."""

    sla: str | SLA | Sequence[SLA]
    policy: str | type[Policy]
    options: Mapping[str, Any] | None
    budget: Budget | None
    plan: Plan | None
    directory: Path | str
    sinks: Mapping[str, Sink | Path | str] | None
    streams: KafkaStreams | str | None
    on: SparkPlace | None
    loop: LoopOptions | None
    listeners: Sequence[Listener]
    dashboard: bool | str


class Pipeline:
    """A topology that runs; made by `start`. As a context manager it stops at the end.

    `dashboard` is its page, if one was asked for.
    """

    def __init__(
        self,
        running: TopologyPlant,
        controller: Controller,
        log: ServiceLog,
        closing: ExitStack,
        dashboard: Dashboard | None = None,
    ) -> None:
        self.dashboard = dashboard
        self.runtime: Runtime = running.runtime
        self.plant, self.controller = running.plant, controller
        self._log, self._closing = log, closing
        self._loop = threading.Thread(target=controller.run, name="rheostat", daemon=True)
        self._loop.start()

    @property
    def plan(self) -> Plan:
        """The desired state."""
        return self.controller.plan

    def change_goal(self, *, sla: str | SLA | Sequence[SLA] | None = None, budget: Budget | None = None) -> None:
        """Use another SLA, other SLAs or another budget from the next turn on; what is left out stays."""
        self.controller.change_goal(slas=None if sla is None else _slas(sla), budget=budget)

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until it is stopped or `timeout` has passed (False); raises the error if a query fails.

        Raises `KeyboardInterrupt` on Ctrl-C and `SystemExit` on SIGTERM, which leave running batches alone.
        """
        timeout_s = None if timeout is None else seconds(timeout, "timeout")
        with raised_stop_signals():
            return self.runtime.wait(timeout_s)

    def wait_for_stop(self, timeout: Duration | None = None) -> int:
        """As `wait`, but returns the exit status: 130 when SIGINT and 143 when SIGTERM ended it, else 0."""
        try:
            self.wait(timeout)
        except (KeyboardInterrupt, SystemExit) as stop:
            return exit_status(stop)
        return 0

    def stop(self) -> None:
        """Stop the loop, let every query finish its batch (for at most a minute), and release what `start` took.

        Can be called again.
        """
        self.controller.stop()
        self._loop.join(_LOOP_STOP_TIMEOUT_S)
        self._closing.close()

    def check_all_ran(self) -> None:
        """After `stop`: raises an error if there was input for an operator and it has never finished a batch."""
        check_all_ran(self.runtime.stalled(), self._log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def start(
    topology: Topology,
    *,
    sla: str | SLA | Sequence[SLA] = (),
    policy: str | type[Policy] = DEFAULT_POLICY,
    options: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    plan: Plan | None = None,
    directory: Path | str = "rheostat-run",
    sinks: Mapping[str, Sink | Path | str] | None = None,
    streams: KafkaStreams | str | None = None,
    on: SparkPlace | None = None,
    loop: LoopOptions | None = None,
    listeners: Sequence[Listener] = (),
    dashboard: bool | str = False,
) -> Pipeline:
    """Start `topology` on Spark and keep it at `sla` within `budget`.

    `policy` is the name or class of a policy, `options` are its options.
    It runs `on` a Spark session, a master's URL, a cluster, or a `SparkTarget` with settings and nodes. `plan` is what
    it starts with, e.g. `Plan.initial(topology, 2)`, unless the journal in `directory` has a newer one. Results go to
    `sinks`, by operator; by default to files in `directory`. So do the streams between operators, unless `streams`
    names Kafka topics for them ("kafka:PREFIX@BROKERS", or `KafkaStreams`). The journal there keeps the last snapshots,
    a day of them at one a second. `loop` has the times of the control loop; by default it turns every second.
    `dashboard` serves a page of the run, at "HOST:PORT" or, with True, on this machine: the pipeline's `dashboard` has
    its address.
    """
    topics = streams_of(streams) if isinstance(streams, str) else streams
    target, address = _with_connector(as_target(on), topology, sinks or {}, topics), address_of(dashboard)
    goal = Goal(topology, _slas(sla), budget or Budget())
    decider = make_policy(policy, goal, options)
    first = plan or Plan.initial(topology, {name: goal.budget.minimum(name) for name in topology.operators})
    with ExitStack() as undo:
        spark = undo.enter_context(target.open(topology.name))
        undo.enter_context(jobs_survive_interrupt())
        run_directory = RunDirectory(directory, topology, first.fused)
        undo.callback(run_directory.release)
        journal = undo.enter_context(Journal(run_directory.path / JOURNAL, keep_snapshots=A_DAY))
        resumed = journal.resume(topology)
        planned = first if resumed is None else resumed.plan
        running = undo.enter_context(
            topology_plant(
                spark,
                topology,
                planned,
                run_directory,
                sinks=sinks,
                streams=topics,
                nodes=target.nodes,
                known_nodes=target.known_nodes,
                budget=goal.budget,
                base=_last_snapshot(journal),
                source_interval_s=source_interval_s(goal.slas),
            )
        )
        times, log = loop or LoopOptions("1s"), ServiceLog()
        board = None if address is None else undo.enter_context(Dashboard(journal, address))
        heard: list[Listener] = [log, *listeners, *([] if board is None else [board])]
        controller = Controller(running.plant, decider, goal, journal, times, plan=planned, listeners=heard)
        if board is not None:
            board.steer(controller)
        running.plant.apply(planned)
        return Pipeline(running, controller, log, undo.pop_all(), board)


def run(topology: Topology, *, for_: Duration | None = None, **options: Unpack[StartOptions]) -> None:
    """Start `topology` as `start` does, and stop it after `for_`, on Ctrl-C or SIGTERM, or when a query fails.

    After a signal it raises `SystemExit` with status 130 (SIGINT) or 143 (SIGTERM), once running batches have finished
    or a minute has passed; a second signal does not wait for them. An operator that never ran is an error.
    """
    with start(topology, **options) as pipeline:
        status = pipeline.wait_for_stop(for_)
        if status:
            _LOG.warning("stopping when the running batches have finished; a second signal stops at once")
    if status:
        _LOG.warning("stopped; run it again with directory %s to continue from here", pipeline.runtime.directory.path)
        raise SystemExit(status)
    pipeline.check_all_ran()


def _with_connector(
    target: SparkTarget, topology: Topology, sinks: Mapping[str, Sink | Path | str], streams: KafkaStreams | None
) -> SparkTarget:
    """`target`, with Spark's connector in a new session if a source, a sink or a stream is a Kafka topic."""
    topics = [name for name, sink in sinks.items() if isinstance(sink, KafkaSink) or str(sink).startswith(PREFIX)]
    if topics:
        _LOG.info("the results of %s go to Kafka at least once: a repeated batch is written again", ", ".join(topics))
    if target.session is not None or not (topics or topics_of(topology) or streams):
        return target
    return replace(target, settings={**target.settings, **connector_settings(target.settings)})


def source_interval_s(slas: Sequence[SLA]) -> float:
    """The least time between the starts of two batches of a source."""
    return min([_SOURCE_INTERVAL_S, *(_SOURCE_SHARE * sla.latency_s for sla in slas)])


def _slas(sla: str | SLA | Sequence[SLA]) -> tuple[SLA, ...]:
    if isinstance(sla, str):
        return (SLA.parse(sla),)
    return (sla,) if isinstance(sla, SLA) else tuple(sla)


def _last_snapshot(journal: Journal) -> Snapshot | None:
    recorded = journal.last_recorded(1)
    return recorded[-1].snapshot if recorded else None
