"""Attachment: a control loop for an application that already runs streaming queries, added with one line.

    import rheostat
    rheostat.attach(spark, sla="5s/30s", max_executors=20)

The queries are not changed. What cannot work is refused before anything is changed. Errors later on are logged and
journalled, and the queries continue on the executors they have.
"""

import atexit
import logging
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from pyspark.sql import SparkSession

from rheostat.clock import Clock
from rheostat.describe import executors
from rheostat.duration import Duration
from rheostat.errors import ConfigError
from rheostat.journal import A_DAY, Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Turn
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.spark.act.application_pools import ApplicationPool
from rheostat.spark.attach import OPERATOR, application_topology, check_controllable, has_ended
from rheostat.spark.wiring import AttachedPlant, attached_plant

_LOG = logging.getLogger("rheostat")
_KEPT_IN_MEMORY = 10_000
_LOOP_STOP_TIMEOUT_S = 30.0


def attach(
    spark: SparkSession,
    sla: str | SLA,
    policy: str | type[Policy] = "threshold",
    *,
    min_executors: int | None = None,
    max_executors: int | None = None,
    period: Duration = "10s",
    cooldown: Duration = 0,
    journal: Path | str | Journal | None = None,
    dry_run: bool = False,
    options: Mapping[str, Any] | None = None,
) -> "Attachment":
    """Scale the executors of the application that `spark` belongs to, so that its streaming queries keep `sla`.

    `sla` is "latency/window"; it holds when it holds for each query. Latencies are estimated from the durations of
    batches. `policy` is the name or class of a policy, `options` are its options. The bounds default to those of
    `spark.dynamicAllocation`, if they are set there, and otherwise to at least 1; `spark.cores.max` is a bound as well.
    `period` is the time between two turns of the loop, `cooldown` the least time between two actions. `journal` is a
    file that records what was seen and done, from which a later attachment continues; without one it is kept in memory.
    With `dry_run` decisions are made and journalled, and nothing is changed.

    It starts from what the application has asked for: the target of dynamic allocation, `spark.executor.instances`, or
    all that Spark can give it. Nothing is released but by a decision, or if there are more than `max_executors`.
    Executors of other resource profiles than the default stay as they are. Spark's dynamic allocation is stopped for as
    long as the attachment lasts. Raises a `RheostatError` if the session cannot be controlled (Spark Connect, `local`),
    if it is attached already, or if an argument cannot be used; nothing has changed then.
    """
    check_controllable(spark)
    loop = LoopOptions(period, cooldown=cooldown, dry_run=dry_run)
    topology = application_topology(spark)
    goal = Goal(
        topology, (SLA.parse(sla) if isinstance(sla, str) else sla,), _budget(spark, min_executors, max_executors)
    )
    decider = make_policy(policy, goal, options)
    with ExitStack() as undo:
        record = journal if isinstance(journal, Journal) else undo.enter_context(_open(journal))
        attached = undo.enter_context(attached_plant(spark, topology, dry_run=loop.dry_run))
        present = PresentPlan(goal, attached.pool, attached.plant.clock)
        return Attachment(spark, attached, decider, goal, record, loop, present, undo.pop_all())


class PresentPlan:
    """What an application has or has asked for, as a plan: what holds until something is decided."""

    def __init__(self, goal: Goal, pool: ApplicationPool, clock: Clock) -> None:
        self._topology, self._pool, self._clock = goal.topology, pool, clock
        self._size = pool.starting_size(goal.budget.minimum(OPERATOR), clock)
        self._last = 0

    def __call__(self) -> Plan:
        registered = self._pool.size
        size = self._size.update(registered, self._clock.now())
        if registered <= size < self._last:
            _LOG.info("%s of %d: the others have not started, or are gone", executors(size), self._last)
        self._last = size
        return Plan.initial(self._topology, max(1, size))


class Attachment:
    """A control loop in a thread of its own, made by `attach`. As a context manager it detaches at the end."""

    def __init__(
        self,
        spark: SparkSession,
        attached: AttachedPlant,
        policy: Policy,
        goal: Goal,
        journal: Journal,
        options: LoopOptions,
        present: PresentPlan,
        closing: ExitStack,
    ) -> None:
        self.goal, self.journal = goal, journal
        self._spark, self._closing = spark, closing
        self._controller = Controller(
            attached.plant, policy, goal, journal, options,
            plan=present(), present=present, listeners=[self._after_turn],
        )  # fmt: skip
        self._last: Turn | None = None
        self._lock = threading.Lock()
        self._attached = True
        self._thread = threading.Thread(target=self._controller.run, name="rheostat", daemon=True)
        atexit.register(self.detach)
        self._thread.start()
        stopped = "; Spark's dynamic allocation is stopped" if attached.pool.stopped_dynamic_allocation else ""
        _LOG.info(
            "attached to %r with policy %r for %s: %s%s", goal.topology.name, policy.name, goal.slas[0],
            executors(self.executors), stopped,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.detach()

    @property
    def attached(self) -> bool:
        """False once detached, or when the application has ended."""
        return self._attached and self._thread.is_alive()

    @property
    def plan(self) -> Plan:
        """What is wanted now."""
        return self._controller.plan

    @property
    def executors(self) -> int:
        """How many executors are wanted now."""
        return self.plan.size(OPERATOR)

    @property
    def last(self) -> Turn | None:
        """The last turn of the loop: what was seen, decided and wanted, and what is wrong."""
        return self._last

    def pause(self) -> None:
        """Change nothing until `resume`."""
        self._controller.pause()

    def resume(self) -> None:
        self._controller.resume()

    def detach(self) -> None:
        """Leave the executors as they are and let Spark allocate again if it did. A second call does nothing."""
        with self._lock:
            if not self._attached:
                return
            self._attached = False
        atexit.unregister(self.detach)
        self._controller.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(_LOOP_STOP_TIMEOUT_S)
        try:
            self._closing.close()
        except Exception as error:  # it must not reach a driver program that is about to end
            _LOG.warning("detached, but %s", error)

    def _after_turn(self, turn: Turn) -> None:
        self._last = turn
        if has_ended(self._spark):
            _LOG.info("the application has ended, and with it the attachment")
            self.detach()


def _open(journal: Path | str | None) -> Journal:
    if journal is None:
        return Journal(keep_snapshots=_KEPT_IN_MEMORY)
    return Journal(journal, keep_snapshots=A_DAY)


def _budget(spark: SparkSession, least: int | None, most: int | None) -> Budget:
    conf = spark.sparkContext.getConf()
    least = max(1, _number(conf.get("spark.dynamicAllocation.minExecutors")) or 1) if least is None else least
    most = _number(conf.get("spark.dynamicAllocation.maxExecutors")) if most is None else most
    return Budget(least={OPERATOR: least}, most={} if most is None else {OPERATOR: most})


def _number(text: str | None) -> int | None:
    """A setting that is a whole number; Spark writes "infinity" for none."""
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ConfigError(f"{text!r} is not a number of executors: give min_executors and max_executors") from None
