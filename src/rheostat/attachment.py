"""One line in a driver program that already runs streaming queries: their executors follow the load from then on.

    import rheostat
    rheostat.attach(spark, sla="5s/30s", max_executors=20)

The queries are not touched. What cannot work is refused before anything is changed. Whatever goes wrong later is
logged and journalled, and the queries go on with the executors they have.
"""

import atexit
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pyspark.sql import SparkSession

from rheostat.describe import executors
from rheostat.duration import Duration
from rheostat.errors import ConfigError, PlantError
from rheostat.journal import A_DAY, Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Turn
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_options, make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.spark.application import OPERATOR, Application, check_controllable

_LOG = logging.getLogger("rheostat")
_MARK = "_rheostat_attachment"
_KEPT_IN_MEMORY = 10_000
_PATIENCE_S = 30.0


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
    batches. `policy` is a policy's name or class, `options` its options. The bounds default to those of
    `spark.dynamicAllocation` if they are set there, the lower one else to 1; `spark.cores.max` bounds as well.
    `period` and `cooldown` are the loop's. `journal` is a file that records what was seen and done (in memory, if left
    out) and from which a later attachment goes on. With `dry_run` decisions are only made and journalled.

    Executors of other resource profiles than the default stay as they are. Spark's own dynamic allocation rests for
    as long as the attachment lasts. Raises a `RheostatError` if the session cannot be controlled (Spark Connect,
    `local`), if one is attached already, or if an argument cannot be used; nothing has changed then.
    """
    check_controllable(spark)
    _check_not_attached(spark)
    loop = LoopOptions(period, cooldown=cooldown, dry_run=dry_run)
    application = Application(spark)
    goal = Goal(application.topology, (_sla(sla),), _budget(spark, min_executors, max_executors))
    decider = _policy(policy, goal, options or {})
    record, owned = (journal, False) if isinstance(journal, Journal) else (_open(journal), True)
    try:
        return Attachment(spark, application, decider, goal, record, loop, owns_journal=owned)
    except BaseException:
        if owned:
            record.close()
        raise


class Attachment:
    """A control loop in a thread of its own, made by `attach`. As a context manager it detaches at the end."""

    def __init__(
        self,
        spark: SparkSession,
        application: Application,
        policy: Policy,
        goal: Goal,
        journal: Journal,
        options: LoopOptions,
        *,
        owns_journal: bool,
    ) -> None:
        self.goal, self.journal = goal, journal
        self._spark, self._application, self._owns_journal = spark, application, owns_journal
        start = _start(application, goal)
        self._controller = Controller(application, policy, goal, journal, options, plan=start, listeners=[self._told])
        self._last: Turn | None = None
        self._lock = threading.Lock()
        self._attached = True
        rests = not options.dry_run and application.take_over()
        self._thread = threading.Thread(target=self._controller.run, name="rheostat", daemon=True)
        setattr(spark.sparkContext, _MARK, self)
        atexit.register(self.detach)
        self._thread.start()
        _LOG.info(
            "attached to %r with policy %r for %s: %s%s", goal.topology.name, policy.name, goal.slas[0],
            executors(self.plan.size(OPERATOR)), "; Spark's dynamic allocation rests" if rests else "",
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
        """Leave the executors as they are and let Spark allocate again if it did. Again, it does nothing."""
        with self._lock:
            if not self._attached:
                return
            self._attached = False
        atexit.unregister(self.detach)
        self._controller.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE_S)
        self._hand_back()
        setattr(self._spark.sparkContext, _MARK, None)
        if self._owns_journal:
            self.journal.close()

    def _hand_back(self) -> None:
        """Whatever goes wrong here must not reach a driver program that is about to end."""
        try:
            problem = None if self._application.ended else self._application.hand_back()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            _LOG.warning("detached, but %s", problem)

    def _told(self, period: Turn) -> None:
        self._last = period
        if self._spark.sparkContext._jsc is None or self._application.ended:
            _LOG.info("the application has ended, and with it the attachment")
            self._controller.stop()


def _check_not_attached(spark: SparkSession) -> None:
    if getattr(spark.sparkContext, _MARK, None) is not None:
        raise PlantError(f"application {spark.sparkContext.appName!r} is attached already: detach it first")


def _sla(sla: str | SLA) -> SLA:
    return SLA.parse(sla) if isinstance(sla, str) else sla


def _policy(policy: str | type[Policy], goal: Goal, options: Mapping[str, Any]) -> Policy:
    return (
        make_policy(policy, goal, options) if isinstance(policy, str) else policy(goal, make_options(policy, options))
    )


def _open(journal: Path | str | None) -> Journal:
    if journal is None:
        return Journal(keep_snapshots=_KEPT_IN_MEMORY)
    return Journal(journal, keep_snapshots=A_DAY)


def _start(application: Application, goal: Goal) -> Plan:
    """The executors there are, as far as the bounds allow."""
    least, most = goal.budget.minimum(OPERATOR), goal.budget.maximum(OPERATOR)
    return Plan.initial(goal.topology, {OPERATOR: int(min(max(application.size, least), most))})


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
