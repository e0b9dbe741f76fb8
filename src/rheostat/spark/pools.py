"""The pools of an application, step by step made into what a plan wants.

Each step looks at the executors that Spark has and does all that is possible now: bind numbers, seat substreams,
begin warm-ups, dismiss who is empty, ask for totals. Nothing waits for an executor; the next step goes on.
"""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import PlantError, nearest
from rheostat.plan import Plan, PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.allocation import Allocation, SparkExecutor
from rheostat.spark.patience import Patience
from rheostat.spark.pool import Pool
from rheostat.spark.profile import pool_profile
from rheostat.spark.seats import Seats
from rheostat.spark.session import stop_own_allocation
from rheostat.spark.usher import PlainUsher, SeatUsher, Switches, Usher
from rheostat.spark.warmup import Kind, WarmUp
from rheostat.topology import Topology

_PATIENCE_S = 15.0
_PYTHON_NODES = ("Python", "InArrow", "InPandas")
_DEFAULT_PROFILE = 0
_LOG = logging.getLogger(__name__)


class PoolMember(msgspec.Struct, frozen=True):
    """An executor of a pool as Rheostat sees it; `spark` is None for one that has not come yet."""

    pool: str
    number: int
    phase: ExecutorPhase
    spark: SparkExecutor | None


class PoolsReport(msgspec.Struct, frozen=True):
    """How things stood after a step: for which plan, what of it is real, what stands in the way."""

    plan: Plan
    reached: frozenset[str]
    obstacles: tuple[str, ...]
    members: tuple[PoolMember, ...]
    owners: dict[str, tuple[int | None, ...]]
    settled: bool


class Pools:
    """All pools of one application. From now on Spark's own allocation is out of the way.

    `nodes` pins whole pools to a node by its name or label. `unpinned` executors are kept for whatever runs outside
    all pools, such as sources; without any of them such work would wait for ever. `directory` is a place that all
    executors see, for warm-ups. Only one thread may call `step`; the report can be read by any.
    """

    def __init__(
        self,
        spark: SparkSession,
        topology: Topology,
        plan: Plan,
        *,
        cores: int | None = None,
        nodes: Mapping[str, str] | None = None,
        unpinned: int = 1,
        directory: str | None = None,
        switches: Switches = lambda operator: None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._spark, self._topology, self._plan = spark, topology, plan
        self._unpinned, self._patience_s, self._directory = unpinned, patience_s, directory
        self._allocation = Allocation(spark)
        self._patience = Patience(spark)
        self._nodes = {name: _node_of(name, pool, nodes or {}) for name, pool in plan.pools.items()}
        self._profiles = {name: pool_profile(spark, cores=cores, node=self._nodes[name]) for name in plan.pools}
        self._usher = self._new_usher(switches)
        self._pools = {name: Pool(name, self._wanted(pool)) for name, pool in plan.pools.items()}
        self._owners: dict[str, list[SparkExecutor]] = {}
        self._totals: dict[int, int] = {}
        self._python: set[str] = set()
        self._warming: dict[str, tuple[frozenset[str], WarmUp, Future[None]]] = {}
        self._helpers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="rheostat warm-up")
        for profile in self._profiles.values():
            self._allocation.register(_java(profile))
        stop_own_allocation(spark)
        self._report = PoolsReport(plan, frozenset(), (), (), {}, False)

    @property
    def report(self) -> PoolsReport:
        """What the last step found."""
        return self._report

    def profile(self, pool: str) -> ResourceProfile:
        return self._profiles[pool]

    def place(self, part: str, df: DataFrame) -> DataFrame:
        """`df` of an operator, with its stage in the operator's pool; of a source, as it is."""
        if part not in self._plan.pool_of:
            return df
        # What is not streaming is one batch of a query that was looked at when it started.
        if df.isStreaming and _uses_python(df):
            self._python.add(part)
        return self._usher.place(part, df)

    def follow(self, plan: Plan) -> None:
        """Work towards `plan` from the next step on. Pools are made once: a plan with other ones is refused."""
        for operator, pool in plan.pool_of.items():
            if self._plan.pool_of.get(operator) != pool:
                raise PlantError(
                    f"the plan has operator {operator!r} in pool {pool!r}, which was not so at the start; "
                    f"{nearest(pool, self._pools)}"
                )
        self._plan = plan

    def step(self, now_s: float) -> PoolsReport:
        """Do what can be done now. Takes some milliseconds, unless the cluster manager does not answer."""
        plan = self._plan
        executors = self._allocation.executors()
        jobs = self._allocation.active_jobs()
        doomed: dict[str, list[str]] = {}
        for name, pool in self._pools.items():
            pool.want(self._wanted(plan.pools[name]))
            pool.see(each for each in executors if each.profile == self._profiles[name].id)
            self._end_warm_up(name)
            pool.bind()
            seated = self._seat(plan, name)
            self._usher.keep_out(executor.id for executor in pool.leaving() if executor.id not in seated)
            doomed[name] = pool.to_dismiss(seated, jobs, now_s)
            self._begin_warm_up(name)
        self._ask_for_totals(doomed)
        self._dismiss(doomed)
        self._trim(executors)
        self._report = self._reported(plan, now_s)
        self._patience.keep(not any(pool.is_bereft for pool in self._pools.values()))
        return self._report

    def close(self) -> None:
        """Let all executors of the pools go, busy or not, and end warm-ups. Nobody may call `step` any more."""
        for _, warm_up, _ in self._warming.values():
            warm_up.cancel()
        self._helpers.shutdown(wait=True, cancel_futures=True)
        self._patience.keep(True)
        ours = {profile.id for profile in self._profiles.values()}
        self._allocation.request({_DEFAULT_PROFILE: self._unpinned, **dict.fromkeys(ours, 0)})
        self._allocation.kill((e.id for e in self._allocation.executors() if e.profile in ours), force=True)

    def _new_usher(self, switches: Switches) -> Usher:
        profiles = {operator: self._profiles[pool] for operator, pool in self._plan.pool_of.items()}
        if Seats.can_be_had(self._spark):
            return SeatUsher(self._spark, profiles)
        return PlainUsher(self._allocation, profiles, switches)

    def _wanted(self, pool: PoolPlan) -> PoolPlan:
        return pool if self._usher.can_keep_out else msgspec.structs.replace(pool, standby=0)

    def _seat(self, plan: Plan, name: str) -> set[str]:
        """Show the work of the pool's operators to those who serve; the ids of all that get some."""
        pool = self._pools[name]
        serving = pool.open()
        seated = {executor.id for executor in serving}
        for operator in plan.sharing(name):
            present = [executor.id for executor in self._owners.get(operator, [])]
            owners = pool.owners(plan.assignment.get(operator, ()), present)
            self._usher.show(operator, serving, owners)
            self._owners[operator] = owners
            seated |= {executor.id for executor in owners}
        return seated

    def _dismiss(self, doomed: Mapping[str, Sequence[str]]) -> None:
        for name, executor_ids in doomed.items():
            if executor_ids:
                self._pools[name].dismissed(self._allocation.kill(executor_ids))

    def _trim(self, executors: Sequence[SparkExecutor]) -> None:
        """Spark's own allocation may have left more than is kept from now on, and earlier pools some that came late."""
        ours = {profile.id for profile in self._profiles.values()}
        unpinned = [executor.id for executor in executors if executor.profile == _DEFAULT_PROFILE]
        strangers = [executor.id for executor in executors if executor.profile not in {_DEFAULT_PROFILE, *ours}]
        if surplus := [*unpinned[self._unpinned :], *strangers]:
            self._allocation.kill(surplus)

    def _begin_warm_up(self, name: str) -> None:
        new = self._pools[name].to_warm_up()
        if not new or name in self._warming:
            return
        ids = frozenset(executor.id for executor in new)
        if self._usher.can_keep_out:
            warm_up = WarmUp(self._spark, self._profiles[name], self._kind(name), self._directory)
            self._warming[name] = (ids, warm_up, self._helpers.submit(warm_up.run, new))
        else:
            self._pools[name].warmed_up(ids)

    def _end_warm_up(self, name: str) -> None:
        """A warm-up that failed is over as well: a cold executor is better than none."""
        if name not in self._warming or not self._warming[name][2].done():
            return
        ids, _, outcome = self._warming.pop(name)
        if error := outcome.exception():
            _LOG.warning("warming up executors %s of pool %r failed: %s", ", ".join(sorted(ids)), name, error)
        self._pools[name].warmed_up(ids)

    def _kind(self, name: str) -> Kind:
        operators = self._plan.sharing(name)
        stateful = any(self._topology.operators[operator].keyed for operator in operators)
        return Kind(stateful, python=any(operator in self._python for operator in operators))

    def _ask_for_totals(self, doomed: Mapping[str, Sequence[str]]) -> None:
        """Before anyone is killed: as long as the total counts them, the cluster would replace them at once."""
        totals = {self._profiles[name].id: pool.total(doomed[name]) for name, pool in self._pools.items()}
        totals[_DEFAULT_PROFILE] = self._unpinned
        if totals != self._totals:
            self._allocation.request(totals)
            self._totals = totals

    def _reported(self, plan: Plan, now_s: float) -> PoolsReport:
        shortages = [pool.shortage(now_s, self._patience_s) for pool in self._pools.values()]
        owners = {operator: self._numbers(plan, operator) for operator in plan.assignment}
        misplaced = [_misplaced(name, plan.pools[name], node) for name, node in self._nodes.items()]
        return PoolsReport(
            plan=plan,
            reached=frozenset(operator for operator in plan.pool_of if self._is_real(plan, operator, owners)),
            obstacles=tuple(each for each in (*shortages, *misplaced) if each is not None),
            members=tuple(PoolMember(name, *each) for name, pool in self._pools.items() for each in pool.members()),
            owners=owners,
            settled=all(pool.is_settled for pool in self._pools.values()),
        )

    def _numbers(self, plan: Plan, operator: str) -> tuple[int | None, ...]:
        members = self._pools[plan.pool_of[operator]].members()
        number_of = {executor.id: number for number, _, executor in members if executor is not None}
        return tuple(number_of.get(executor.id) for executor in self._owners.get(operator, []))

    def _is_real(self, plan: Plan, operator: str, owners: Mapping[str, Sequence[int | None]]) -> bool:
        pool = plan.pool_of[operator]
        if not self._pools[pool].serves_as_wanted or _misplaced(pool, plan.pools[pool], self._nodes[pool]):
            return False
        return operator not in owners or tuple(owners[operator]) == plan.assignment[operator]


def _node_of(name: str, pool: PoolPlan, nodes: Mapping[str, str]) -> str | None:
    """Where the whole pool is to be: as told, or where the plan has all of it from the start."""
    if name in nodes:
        return nodes[name]
    planned = {location.node for location in pool.locations.values()}
    return planned.pop() if len(planned) == 1 and pool.locations.keys() == set(pool.executors) else None


def _misplaced(name: str, pool: PoolPlan, node: str | None) -> str | None:
    elsewhere = sorted({location.node for location in pool.locations.values()} - {node})
    if not elsewhere:
        return None
    where = "not pinned to a node" if node is None else f"pinned to {node!r}"
    return (
        f"pool {name!r} is {where} and cannot have executors on {', '.join(elsewhere)}: "
        "on Spark a pool is placed as a whole, when it starts"
    )


def _uses_python(df: DataFrame) -> bool:
    classic: Any = df
    plan = str(classic._jdf.queryExecution().analyzed().toString())
    return any(node in plan for node in _PYTHON_NODES)


def _java(profile: ResourceProfile) -> Any:
    return profile._java_resource_profile
