"""The pools of an application, step by step made into what a plan wants.

Each step looks at the executors that Spark has and does all that is possible now: bind numbers, seat substreams,
begin warm-ups, dismiss who is empty, ask for totals. Nothing waits for an executor; the next step goes on.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import PlantError
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan, PoolPlan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.act.allocation import Allocation, SparkExecutor
from rheostat.spark.act.dynamic_allocation import stop_own_allocation
from rheostat.spark.act.executor_preferences import Seats
from rheostat.spark.act.locality_wait import Patience
from rheostat.spark.act.pool import Pool
from rheostat.spark.act.pool_site import NOBODY, Post, Posts
from rheostat.spark.act.resource_profiles import pool_profile
from rheostat.spark.act.serving_pool import Homes, Together
from rheostat.spark.act.task_routing import PlainUsher, SeatUsher, Switches, Usher
from rheostat.spark.act.warm_up import Kind, WarmUp
from rheostat.spark.act.warm_ups import WarmUps
from rheostat.topology import Topology

_PATIENCE_S = 15.0
_PYTHON_NODES = ("Python", "InArrow", "InPandas")
_DEFAULT_PROFILE = 0
_MARK = "_rheostat_pools"
"""On the context of an application whose executors are in our hands."""


class PoolMember(msgspec.Struct, frozen=True):
    """An executor of a pool as Rheostat sees it; `spark` is None for one that has not come yet."""

    pool: PoolName
    number: int
    phase: ExecutorPhase
    spark: SparkExecutor | None


class PoolsReport(msgspec.Struct, frozen=True):
    """How things stood after a step: for which plan, what of it is real, what stands in the way."""

    plan: Plan
    reached: frozenset[OperatorName]
    obstacles: tuple[str, ...]
    members: tuple[PoolMember, ...]
    owners: dict[OperatorName, tuple[int | None, ...]]
    settled: bool
    homes: dict[OperatorName, PoolName] = {}

    def sharing(self, pool: PoolName) -> list[OperatorName]:
        """The operators that `pool` serves now, which is not always what the plan wants."""
        return [operator for operator, home in self.homes.items() if home == pool]


class Pools:
    """All pools of one application. From now on Spark's own allocation is out of the way.

    `nodes` pins whole pools to a node by its name or label, until a plan has all of a pool elsewhere. `unpinned`
    executors are kept for whatever runs outside all pools, such as sources; without any of them such work would wait
    for ever. `directory` is a place that all executors see, for warm-ups. `together` tells which operators share a
    query. Only one thread may call `step`; the report can be read by any.
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
        together: Together = tuple,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        if (other := getattr(spark.sparkContext, _MARK, None)) is not None:
            raise PlantError(f"the executors of this application serve topology {other!r}: stop that first")
        self._spark, self._topology, self._plan = spark, topology, plan
        self._unpinned, self._patience_s, self._directory = unpinned, patience_s, directory
        self._cores, self._nodes = cores, dict(nodes or {})
        self._allocation = Allocation(spark)
        self._patience = Patience(spark)
        self._homes = Homes(plan.pool_of, together)
        self._served = dict(plan.pools)
        self._posts = {name: self._new_posts(name, pool, cold=True) for name, pool in plan.pools.items()}
        self._usher = self._new_usher(switches)
        self._owners: dict[OperatorName, list[SparkExecutor]] = {}
        self._totals: dict[int, int] = {}
        self._python: set[str] = set()
        self._warm_ups = WarmUps()
        stop_own_allocation(spark)
        setattr(spark.sparkContext, _MARK, topology.name)
        self._report = PoolsReport(plan, frozenset(), (), (), {}, False)

    @property
    def report(self) -> PoolsReport:
        """What the last step found."""
        return self._report

    @property
    def can_place(self) -> bool:
        """Whether a pool can be moved to another node while it serves."""
        return self._usher.can_keep_out

    def profile(self, pool: PoolName) -> ResourceProfile:
        """Of those who serve now."""
        return self._posts[pool].serving.profile

    def place(self, part: str, df: DataFrame) -> DataFrame:
        """`df` of an operator, with its stage in the operator's pool; of a source, as it is."""
        if part not in self._plan.pool_of:
            return df
        # What is not streaming is one batch of a query that was looked at when it started.
        if df.isStreaming and _uses_python(df):
            self._python.add(part)
        return self._usher.place(part, df)

    def follow(self, plan: Plan) -> None:
        """Work towards `plan` from the next step on. Pools come and go with it."""
        self._plan = plan

    def step(self, now_s: float) -> PoolsReport:
        """Do what can be done now. Takes some milliseconds, unless the cluster manager does not answer."""
        plan = self._plan
        executors = self._allocation.executors()
        jobs = self._allocation.active_jobs()
        self._come_and_go(plan)
        for name, posts in self._posts.items():
            wanted = self._wanted_of(plan, name)
            self._choose_posts(posts, wanted)
            for post in posts:
                self._look_after(post, posts, wanted, executors)
            self._take_over(name, posts)
        self._move_in(plan)
        seated = {executor_id for name in self._posts for executor_id in self._seat(plan, name)}
        doomed = {post: self._doomed(post, seated, jobs, now_s) for post in self._all_posts()}
        self._ask_for_totals(doomed)
        self._dismiss(doomed)
        self._trim(executors)
        self._report = self._reported(plan, now_s)
        self._patience.keep(not any(posts.serving.pool.is_bereft for posts in self._posts.values()))
        return self._report

    def close(self) -> None:
        """Let all executors of the pools go, busy or not, and end warm-ups. Nobody may call `step` any more."""
        self._warm_ups.close()
        setattr(self._spark.sparkContext, _MARK, None)
        self._patience.keep(True)
        ours = {post.profile.id for post in self._all_posts()}
        self._allocation.request({_DEFAULT_PROFILE: self._unpinned})
        self._allocation.kill((e.id for e in self._allocation.executors() if e.profile in ours), force=True)

    def _new_usher(self, switches: Switches) -> Usher:
        profiles = {str(operator): self.profile(home) for operator, home in self._homes.of_all().items()}
        if Seats.can_be_had(self._spark):
            return SeatUsher(self._spark, profiles)
        return PlainUsher(self._allocation, profiles, switches)

    def _new_posts(self, name: PoolName, wanted: PoolPlan, *, cold: bool) -> Posts:
        return Posts(self._post(name, wanted, self._nodes.get(name) or _planned_node(wanted), cold=cold))

    def _post(self, name: PoolName, wanted: PoolPlan, node: str | None, *, cold: bool = True) -> Post:
        """A new place for a pool; unless `cold`, executors begin to serve there only when they are warm."""
        profile = pool_profile(self._spark, cores=self._cores, node=node)
        self._allocation.register(_java(profile))
        return Post(Pool(name, wanted, may_begin_cold=cold), profile, node)

    def _all_posts(self) -> Iterator[Post]:
        return (post for posts in self._posts.values() for post in posts)

    def _come_and_go(self, plan: Plan) -> None:
        """Pools that the plan has and that are not there yet, and those that it has no more and nobody is in."""
        self._served |= plan.pools
        if self._usher.can_keep_out:
            for name in plan.pools.keys() - self._posts.keys():
                self._posts[name] = self._new_posts(name, plan.pools[name], cold=False)
        for name in self._posts.keys() - plan.pools.keys():
            if not self._homes.at(name) and all(post.pool.is_empty for post in self._posts[name]):
                del self._posts[name]

    def _wanted_of(self, plan: Plan, name: PoolName) -> PoolPlan:
        """Of a pool that the plan has no more: as before while it serves somebody, then nobody."""
        return plan.pools.get(name) or (self._served[name] if self._homes.at(name) else NOBODY)

    def _move_in(self, plan: Plan) -> None:
        """Show the work of operators that have another pool now to those who serve there, once somebody does."""
        if self._usher.can_keep_out:
            for operator in self._homes.move(plan.pool_of, lambda pool: bool(self._posts[pool].serving.pool.open())):
                self._usher.use(operator, self.profile(self._homes[operator]))

    def _choose_posts(self, posts: Posts, wanted: PoolPlan) -> None:
        """Begin to move the pool to the node where the plan has all of it, or give that up."""
        node = _planned_node(wanted)
        if posts.coming is not None and posts.coming.node != node:
            posts.left.append(posts.coming)
            posts.coming = None
        if node is None or node == posts.serving.node or posts.coming is not None or not self._usher.can_keep_out:
            return
        again = next((post for post in posts.left if post.node == node), None)
        if again is not None:
            posts.left.remove(again)
        posts.coming = again or self._post(posts.serving.pool.name, wanted, node, cold=False)

    def _look_after(self, post: Post, posts: Posts, wanted: PoolPlan, executors: Sequence[SparkExecutor]) -> None:
        post.pool.want(NOBODY if post in posts.left else self._wanted(wanted))
        post.pool.see(each for each in executors if each.profile == post.profile.id)
        self._warm_ups.end(post.pool)
        post.pool.bind()

    def _take_over(self, name: PoolName, posts: Posts) -> None:
        """Those at the new place serve from now on, once all of them are ready."""
        posts.left = [post for post in posts.left if not post.pool.is_empty]
        if posts.coming is not None and posts.coming.pool.serves_as_wanted:
            posts.left.append(posts.serving)
            posts.serving, posts.coming = posts.coming, None
            for operator in self._homes.at(name):
                self._usher.use(operator, posts.serving.profile)

    def _doomed(self, post: Post, seated: set[str], jobs: frozenset[int], now_s: float) -> list[str]:
        """Who may be killed now; those who came are warmed up."""
        self._usher.keep_out(executor.id for executor in post.pool.leaving() if executor.id not in seated)
        doomed = post.pool.to_dismiss(seated, jobs, now_s)
        self._begin_warm_up(post)
        return doomed

    def _wanted(self, pool: PoolPlan) -> PoolPlan:
        return pool if self._usher.can_keep_out else msgspec.structs.replace(pool, standby=0)

    def _seat(self, plan: Plan, name: PoolName) -> set[str]:
        """Show the work of the pool's operators to those who serve; the ids of all that get some."""
        pool = self._posts[name].serving.pool
        operators = self._homes.at(name)
        serving = pool.open() if operators else []
        seated = {executor.id for executor in serving}
        for operator in operators:
            present = [executor.id for executor in self._owners.get(operator, [])]
            owners = pool.owners(plan.assignment.get(operator, ()), present)
            self._usher.show(operator, serving, owners)
            self._owners[operator] = owners
            seated |= {executor.id for executor in owners}
        return seated

    def _dismiss(self, doomed: Mapping[Post, Sequence[str]]) -> None:
        for post, executor_ids in doomed.items():
            if executor_ids:
                post.pool.dismissed(self._allocation.kill(executor_ids))

    def _trim(self, executors: Sequence[SparkExecutor]) -> None:
        """Spark's own allocation may have left more than is kept from now on, and earlier pools some that came late."""
        ours = {post.profile.id for post in self._all_posts()}
        unpinned = [executor.id for executor in executors if executor.profile == _DEFAULT_PROFILE]
        strangers = [executor.id for executor in executors if executor.profile not in {_DEFAULT_PROFILE, *ours}]
        if surplus := [*unpinned[self._unpinned :], *strangers]:
            self._allocation.kill(surplus)

    def _begin_warm_up(self, post: Post) -> None:
        if self._usher.can_keep_out:
            kind = self._kind(post.pool.name)
            self._warm_ups.begin(post.pool, lambda: WarmUp(self._spark, post.profile, kind, self._directory))
        else:
            post.pool.warmed_up([executor.id for executor in post.pool.to_warm_up()])

    def _kind(self, name: PoolName) -> Kind:
        operators = {*self._plan.sharing(name), *self._homes.at(name)}
        stateful = any(self._topology.operators[operator].keyed for operator in operators)
        return Kind(stateful, python=any(operator in self._python for operator in operators))

    def _ask_for_totals(self, doomed: Mapping[Post, Sequence[str]]) -> None:
        """Before anyone is killed: as long as the total counts them, the cluster would replace them at once."""
        totals = {post.profile.id: post.pool.total(going) for post, going in doomed.items()}
        totals[_DEFAULT_PROFILE] = self._unpinned
        if totals != self._totals:
            self._allocation.request(totals)
            self._totals = totals

    def _reported(self, plan: Plan, now_s: float) -> PoolsReport:
        shortages = [post.pool.shortage(now_s, self._patience_s) for post in self._all_posts()]
        owners = {operator: self._numbers(operator) for operator in plan.assignment}
        misplaced = [self._misplaced(name, plan.pools[name]) for name in self._posts if name in plan.pools]
        stuck = [self._stuck(plan, operator) for operator in plan.pool_of]
        return PoolsReport(
            plan=plan,
            reached=frozenset(operator for operator in plan.pool_of if self._is_real(plan, operator, owners)),
            obstacles=tuple(each for each in (*shortages, *misplaced, *stuck) if each is not None),
            members=tuple(member for name, posts in self._posts.items() for member in _members(name, posts)),
            owners=owners,
            settled=self._posts.keys() == plan.pools.keys() and all(each.are_settled for each in self._posts.values()),
            homes=self._homes.of_all(),
        )

    def _numbers(self, operator: OperatorName) -> tuple[int | None, ...]:
        members = self._posts[self._homes[operator]].serving.pool.members()
        number_of = {executor.id: number for number, _, executor in members if executor is not None}
        return tuple(number_of.get(executor.id) for executor in self._owners.get(operator, []))

    def _is_real(self, plan: Plan, operator: OperatorName, owners: Mapping[OperatorName, Sequence[int | None]]) -> bool:
        serving, wanted = self._posts[self._homes[operator]].serving, plan.pool(operator)
        if self._homes[operator] != plan.pool_of[operator]:
            return False
        if not serving.pool.serves_as_wanted or _planned_node(wanted) not in (None, serving.node):
            return False
        return operator not in owners or tuple(owners[operator]) == plan.assignment[operator]

    def _stuck(self, plan: Plan, operator: OperatorName) -> str | None:
        if self._usher.can_keep_out or self._homes[operator] == plan.pool_of[operator]:
            return None
        return f"{operator!r} stays in pool {self._homes[operator]!r} while it runs: another needs the JVM helpers"

    def _misplaced(self, name: PoolName, wanted: PoolPlan) -> str | None:
        """What the plan says of places that cannot be, in words."""
        nodes = sorted({location.node for location in wanted.locations.values()})
        if not nodes or nodes == [self._posts[name].serving.node]:
            return None
        if len(nodes) == 1 and _planned_node(wanted) is None:
            return f"pool {name!r} cannot be on {nodes[0]} in part: on Spark a pool is placed as a whole"
        if _planned_node(wanted) is None:
            return f"pool {name!r} cannot be on {' and '.join(nodes)} at once: on Spark a pool is placed as a whole"
        if not self._usher.can_keep_out:
            return f"pool {name!r} cannot be moved to {nodes[0]!r} while it runs: that needs the JVM helpers"
        return None


def _planned_node(pool: PoolPlan) -> str | None:
    """The node where the plan has the whole pool; None where it leaves it open or wants it on several."""
    planned = {location.node for location in pool.locations.values()}
    return planned.pop() if len(planned) == 1 and pool.locations.keys() >= set(pool.executors) else None


def _members(name: PoolName, posts: Posts) -> Iterator[PoolMember]:
    """Those who serve under their numbers; those at other posts as standbys, until they serve or are gone."""
    serving = posts.serving.pool.members()
    yield from (PoolMember(name, *member) for member in serving)
    taken = {number for number, _, _ in serving}
    free = (number for number in count(-1, -1) if number not in taken)
    for post in posts:
        if post is not posts.serving:
            phase = ExecutorPhase.STARTING if post is posts.coming else ExecutorPhase.LEAVING
            present = [executor for _, _, executor in post.pool.members() if executor is not None]
            yield from (PoolMember(name, number, phase, each) for number, each in zip(free, present, strict=False))


def _uses_python(df: DataFrame) -> bool:
    classic: Any = df
    plan = str(classic._jdf.queryExecution().analyzed().toString())
    return any(node in plan for node in _PYTHON_NODES)


def _java(profile: ResourceProfile) -> Any:
    return profile._java_resource_profile
