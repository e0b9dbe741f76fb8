"""Attachment: a control loop for an application that already runs streaming queries, added with one line.

    import rheostat
    rheostat.attach(spark, sla="5s/30s", max_executors=20)

The queries are not changed. What cannot work is refused before anything is changed. Errors later on are logged and
journalled, and the queries continue on the executors they have.
"""

import atexit
import logging
import re
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, Self

from pyspark.sql import SparkSession

from rheostat.attachment_view import AttachmentView, describe_verdict
from rheostat.clock import Clock
from rheostat.describe import describe, executors
from rheostat.duration import Duration
from rheostat.errors import ConfigError
from rheostat.journal import A_DAY, Journal
from rheostat.loop.controller import Controller, Listener
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling, Turn
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.policies.registry import DEFAULT_POLICY, make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.spark.act.application_pools import ApplicationPool
from rheostat.spark.act.executor_pools import has_executors
from rheostat.spark.attach import OPERATOR, STANDING_PROBLEMS, application_topology, check_session, has_ended
from rheostat.spark.observe.query_totals import ALL_QUERIES
from rheostat.spark.wiring import AttachedPlant, attached_plant
from rheostat.web.address import address_of
from rheostat.web.dashboard import Dashboard

_LOG = logging.getLogger("rheostat")
_NUMBER = re.compile(r"(?<= )\d[\d,.]*\w*")
_KEPT_IN_MEMORY = 10_000
_LOOP_STOP_TIMEOUT_S = 30.0


def attach(
    spark: SparkSession,
    sla: str | SLA | Mapping[str, str | SLA],
    policy: str | type[Policy] = DEFAULT_POLICY,
    *,
    min_executors: int | None = None,
    max_executors: int | None = None,
    period: Duration = "2s",
    cooldown: Duration = 0,
    journal: Path | str | Journal | None = None,
    dry_run: bool = False,
    options: Mapping[str, Any] | None = None,
    listeners: Sequence[Listener] = (),
    dashboard: bool | str = False,
) -> "Attachment":
    """Scale the executors of the application that `spark` belongs to, so that its streaming queries keep `sla`.

    `sla` is "latency/window"; it holds when it holds for each query. Or it is a mapping from the names of queries to
    their SLAs, in which "*" stands for all others; the policy then keeps the strictest of them, and the latencies of
    the other queries count in proportion to their own. Latencies are estimated from the durations of batches.
    `policy` is the name or class of a policy, `options` are its options. The bounds default to those of
    `spark.dynamicAllocation`, if they are set there, and otherwise to at least 1; `spark.cores.max` is a bound as well.
    `period` is the time between two turns of the loop, `cooldown` the least time between two actions. `journal` is a
    file that records what was seen and done, from which a later attachment continues; without one it is kept in memory.
    With `dry_run` decisions are made and journalled, and nothing is changed: `recommended` says how many executors
    there should be. `listeners` are called with every turn of the loop. `dashboard` serves a page of the run, at
    "HOST:PORT" or, with True, on this machine; its address is logged, and is that of the attachment's `dashboard`.
    On a local master it is always a dry run, with the driver as the only executor.

    It starts from what the application has asked for: the target of dynamic allocation, `spark.executor.instances`, or
    all that Spark can give it. Nothing is released but by a decision, or if there are more than `max_executors`.
    Executors of other resource profiles than the default stay as they are. Spark's dynamic allocation is stopped for as
    long as the attachment lasts. Raises a `RheostatError` if the session cannot be controlled (Spark Connect), if it is
    attached already, or if an argument cannot be used; nothing has changed then.
    """
    check_session(spark)
    is_local, address = not has_executors(spark), address_of(dashboard)
    loop = LoopOptions(period, cooldown=cooldown, dry_run=dry_run or is_local)
    topology = application_topology(spark)
    strictest, weights = _slas(sla)
    goal = Goal(topology, (strictest,), _budget(spark, min_executors, max_executors))
    if not isinstance(options, Mapping | None):
        raise ConfigError(f'options {options!r} are no mapping: give the policy\'s options by name, {{"high": 0.8}}')
    decider = make_policy(policy, goal, options)
    if is_local:
        _LOG.info(
            "master %r has one process, which counts as one executor: a dry run, nothing is changed",
            spark.sparkContext.master,
        )
    with ExitStack() as undo:
        record = journal if isinstance(journal, Journal) else undo.enter_context(_open(journal))
        attached = undo.enter_context(attached_plant(spark, topology, dry_run=loop.dry_run, weights=weights))
        present = PresentPlan(goal, attached.pool, attached.plant.clock)
        board = None if address is None else undo.enter_context(Dashboard(record, address))
        heard: list[Listener] = [*listeners, *([] if board is None else [board])]
        made = Attachment(spark, attached, decider, goal, record, loop, present, undo.pop_all(), heard, board)
        if board is not None:
            board.steer(made._controller, only_dry=is_local)
            _LOG.warning("dashboard: %s", board.steering_url)
        return made


class PresentPlan:
    """What an application has or has asked for, as a plan: what holds until something is decided."""

    def __init__(self, goal: Goal, pool: ApplicationPool, clock: Clock) -> None:
        self._topology, self._pool, self._clock = goal.topology, pool, clock
        self._size = pool.starting_size(goal.budget.minimum(OPERATOR), clock)
        self._last = 0

    def __call__(self) -> Plan:
        size = self._size.update(self._pool.size, self._clock.now())
        if size < self._last:
            _LOG.info("%s left of %d: the others have not started, or are gone", executors(size), self._last)
        self._last = size
        return Plan.initial(self._topology, max(1, size))


class Attachment:
    """A control loop in a thread of its own, made by `attach`. As a context manager it detaches at the end.

    In a notebook it shows load, latency, executors and the last decision. `dashboard` is its page, if there is one.
    """

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
        listeners: Sequence[Listener] = (),
        dashboard: Dashboard | None = None,
    ) -> None:
        self.goal, self.journal, self.dashboard = goal, journal, dashboard
        self._spark, self._closing, self._clock = spark, closing, attached.plant.clock
        self._view = AttachmentView(
            goal.topology.name, policy.name, goal.slas[0], OPERATOR, options.dry_run, STANDING_PROBLEMS
        )
        self._controller = Controller(
            attached.plant, policy, goal, journal, options,
            plan=present(), present=present,
            listeners=[self._view, AttachmentLog(STANDING_PROBLEMS), *listeners, self._after_turn],
        )  # fmt: skip
        self._last: Turn | None = None
        self._lock = threading.Lock()
        self._attached = True
        self._thread = threading.Thread(target=self._controller.run, name="rheostat", daemon=True)
        atexit.register(self.detach)
        self._thread.start()
        starting = self.executors - attached.pool.size
        coming = f", {starting} of them still starting" if starting > 0 else ""
        stopped = "; Spark's dynamic allocation is stopped" if attached.pool.stopped_dynamic_allocation else ""
        dry = "; a dry run, nothing is changed" if options.dry_run else ""
        _LOG.info(
            "attached to %r with policy %r for %s: %s%s%s%s", goal.topology.name, policy.name, goal.slas[0],
            executors(self.executors), coming, stopped, dry,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.detach()

    def __repr__(self) -> str:
        return self._view.text(self._clock.now(), attached=self.attached)

    def _repr_html_(self) -> str:
        return self._view.html(self._clock.now(), attached=self.attached)

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
        """How many executors are wanted now; in a dry run, how many there are."""
        return self.plan.size(OPERATOR)

    @property
    def recommended(self) -> int | None:
        """How many executors the policy wants now, also in a dry run; None as long as nothing was measured."""
        return self._view.recommended

    @property
    def last(self) -> Turn | None:
        """The last turn of the loop: what was seen, decided and wanted, and what is wrong."""
        return self._last

    def pause(self) -> None:
        """Change nothing until `resume`."""
        self._controller.pause()

    def resume(self) -> None:
        self._controller.resume()

    def change_goal(
        self,
        *,
        sla: str | SLA | None = None,
        min_executors: int | None = None,
        max_executors: int | None = None,
    ) -> None:
        """Use another SLA or other bounds from the next turn on; what is left out stays.

        An SLA for each query is fixed when it is attached.
        """
        _check_bounds(min_executors, max_executors)
        budget = self._controller.goal.budget
        least, most = dict(budget.least), dict(budget.most)
        if min_executors is not None:
            least[OPERATOR] = min_executors
        if max_executors is not None:
            most[OPERATOR] = max_executors
        changed = Budget(budget.total, least, most)
        self._controller.change_goal(slas=None if sla is None else (_sla(sla),), budget=changed)

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
        else:
            _LOG.info("detached from %r: %s", self.goal.topology.name, executors(self.executors))

    def _after_turn(self, turn: Turn) -> None:
        self._last = turn
        if has_ended(self._spark):
            _LOG.info("the application has ended, and with it the attachment")
            self.detach()


class AttachmentLog:
    """Logs each action, in a dry run each decision that is not the last one again, and problems when they begin.

    A problem of which only numbers change is the same. Those of the loop are logged by the loop itself, `standing` ones
    not at all.
    """

    def __init__(self, standing: Collection[str]) -> None:
        self._standing, self._advice = standing, ""
        self._problems: frozenset[str] = frozenset()

    def __call__(self, turn: Turn) -> None:
        for verdict in turn.ruled(Ruling.ACCEPTED):
            _LOG.info("%s", describe_verdict(verdict))
        for verdict in turn.ruled(Ruling.DRY_RUN):
            if describe(verdict.decision) != self._advice:
                _LOG.info("%s", describe_verdict(verdict))
            self._advice = describe(verdict.decision)
        if turn.snapshot is not None:
            problems = {_NUMBER.sub("", each): each for each in turn.snapshot.problems if each not in self._standing}
            for without_numbers, problem in problems.items():
                if without_numbers not in self._problems:
                    _LOG.warning("%s", problem)
            self._problems = frozenset(problems)


def _slas(given: object) -> tuple[SLA, dict[str, float]]:
    """The strictest SLA, and the weights of the queries' latencies against it, by name."""
    if not isinstance(given, Mapping):
        return _sla(given), {ALL_QUERIES: 1.0}
    slas = {str(name): _sla(each) for name, each in given.items()}
    if not slas:
        raise ConfigError('sla {} names no query: give an SLA by the name of each, or "*" for all')
    latency_s, window_s = min(sla.latency_s for sla in slas.values()), min(sla.window_s for sla in slas.values())
    return SLA(latency_s, window_s), {name: latency_s / sla.latency_s for name, sla in slas.items()}


def _sla(given: object) -> SLA:
    if isinstance(given, str):
        return SLA.parse(given)
    if not isinstance(given, SLA):
        raise ConfigError(f'sla {given!r} is no SLA: write latency and window like "5s/30s", or give an SLA')
    return given


def _open(journal: object) -> Journal:
    if journal is None:
        return Journal(keep_snapshots=_KEPT_IN_MEMORY)
    if not isinstance(journal, str | PathLike):
        raise ConfigError(f"journal {journal!r} is no journal: give the path of a file, or a Journal")
    return Journal(Path(journal), keep_snapshots=A_DAY)


def _budget(spark: SparkSession, least: int | None, most: int | None) -> Budget:
    _check_bounds(least, most)
    conf = spark.sparkContext.getConf()
    least = max(1, _number(conf.get("spark.dynamicAllocation.minExecutors")) or 1) if least is None else least
    most = _number(conf.get("spark.dynamicAllocation.maxExecutors")) if most is None else most
    return Budget(least={OPERATOR: least}, most={} if most is None else {OPERATOR: most})


def _check_bounds(least: int | None, most: int | None) -> None:
    for name, given in (("min_executors", least), ("max_executors", most)):
        if given is not None and (not isinstance(given, int) or given < 1):
            raise ConfigError(f"{name} {given!r} must be a whole number >= 1")


def _number(text: str | None) -> int | None:
    """A setting that is a whole number; Spark writes "infinity" for none."""
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ConfigError(f"{text!r} is not a number of executors: give min_executors and max_executors") from None
