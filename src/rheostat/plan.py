"""Plan: the desired state, with the executors of each pool, the assignment of substreams, and the fused operators.

A plan is complete in itself and knows executors only by Rheostat's own numbers. The plant decides which process is
executor 3, so that a failed one is replaced without a new plan, and a restart finds the same desired state.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from rheostat.chain import check_groups, in_flow_order
from rheostat.decision import (
    Decision,
    Fuse,
    GroupDecision,
    Hold,
    Location,
    Move,
    OperatorDecision,
    Place,
    PoolDecision,
    Regroup,
    Scale,
    Split,
    Transfer,
)
from rheostat.errors import ConfigError, RheostatError, nearest
from rheostat.names import OperatorName, PoolName
from rheostat.sla import MOST_EXECUTORS
from rheostat.substream_assignment import spread_evenly
from rheostat.topology import Topology

Loads = Mapping[OperatorName, Sequence[float]]
"""The weight of each substream of an operator."""


class StaleDecisionError(RheostatError):
    """A decision that does not fit the plan in force: a pool, an executor or a substream is not what it says."""


class PoolPlan(msgspec.Struct, frozen=True):
    """The executors that serve, by number, and how many more are kept warm on `standby`."""

    executors: tuple[int, ...]
    next_executor: int
    standby: int = 0
    locations: dict[int, Location] = {}

    @classmethod
    def of(cls, size: int, standby: int = 0) -> "PoolPlan":
        return cls(tuple(range(size)), size, standby)

    @property
    def size(self) -> int:
        """How many executors serve."""
        return len(self.executors)


class Plan(msgspec.Struct, frozen=True):
    """Pools by name, each operator's pool, the executor of each substream, and the grouping of stateless operators.

    Each group in `fused` is one query, its operators in the order of the flow and in one pool. Sources may be in it.
    """

    revision: int
    pools: dict[PoolName, PoolPlan]
    pool_of: dict[OperatorName, PoolName]
    assignment: dict[OperatorName, tuple[int, ...]] = {}
    grouping: dict[OperatorName, str] = {}
    fused: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def initial(
        cls,
        topology: Topology,
        executors: Mapping[str, int] | int = 1,
        *,
        standby: Mapping[str, int] | None = None,
        grouping: Mapping[str, str] | None = None,
        shared: Iterable[Sequence[str]] = (),
        fused: Iterable[Sequence[str]] = (),
    ) -> "Plan":
        """A pool for each operator, its substreams spread evenly in contiguous order.

        Each group in `shared` has one pool, `split+count`, with the largest number that one of its operators has.
        So has each in `fused`, the pool of its last operator.
        """
        sizes: Mapping[str, int] = (
            executors if not isinstance(executors, int) else dict.fromkeys(topology.operators, executors)
        )
        _check_sizes(topology, sizes)
        groups = [tuple(group) for group in fused if group]
        check_groups(topology, groups, [part.name for part in topology.parts], "fuse")
        groups = [in_flow_order(topology, group) for group in groups]
        pool_of = _initial_pools(topology, [tuple(group) for group in shared], groups)
        pools = {
            pool: PoolPlan.of(_largest(sizes, pool, pool_of, 1), _largest(standby or {}, pool, pool_of, 0))
            for pool in pool_of.values()
        }
        assignment = {
            name: _contiguous(operator.substream_count, pools[pool_of[name]].size)
            for name, operator in topology.operators.items()
            if operator.keyed
        }
        groupings = {OperatorName(name): told for name, told in (grouping or {}).items()}
        return cls(0, pools, pool_of, assignment, groupings, tuple(groups))

    def pool(self, operator: OperatorName) -> PoolPlan:
        """The pool that serves `operator`."""
        return self.pools[self.pool_of[operator]]

    def size(self, operator: OperatorName) -> int:
        """How many executors are wanted for `operator`."""
        return self.pool(operator).size

    @property
    def total(self) -> int:
        """All executors that serve; warm standbys are not counted."""
        return sum(pool.size for pool in self.pools.values())

    @property
    def total_with_standbys(self) -> int:
        """All executors that are wanted, whether they serve or stand by."""
        return self.total + sum(pool.standby for pool in self.pools.values())

    def sharing(self, pool: PoolName) -> list[OperatorName]:
        """The operators that `pool` serves."""
        return [operator for operator, its_pool in self.pool_of.items() if its_pool == pool]

    def group(self, operator: OperatorName) -> tuple[str, ...]:
        """The operators (and sources) that are fused with `operator`, itself included, in the order of the flow."""
        return next((group for group in self.fused if operator in group), (operator,))

    @property
    def unseen(self) -> frozenset[OperatorName]:
        """Operators that are fused behind others: records between them are in no stream and are not measured."""
        groups = [[name for name in map(OperatorName, group) if name in self.pool_of] for group in self.fused]
        return frozenset(name for group in groups for name in group[1:])

    def pools_within(self, operators: Collection[str]) -> frozenset[PoolName]:
        """The pools that serve only these operators."""
        return frozenset(self.pools) - {pool for operator, pool in self.pool_of.items() if operator not in operators}

    def pools_of(self, decision: Decision) -> tuple[PoolName, ...]:
        """The pools that `decision` is about, in the order of its operators; unknown names are an error."""
        match decision:
            case PoolDecision():
                _check_known("pool", decision.pool, self.pools)
                return (decision.pool,)
            case OperatorDecision():
                _check_known("operator", decision.operator, self.pool_of)
                return (self.pool_of[decision.operator],)
            case GroupDecision():
                for operator in decision.operators:
                    _check_known("operator", operator, self.pool_of)
                return tuple(dict.fromkeys(self.pool_of[operator] for operator in decision.operators))
        raise TypeError(f"{decision!r} is about neither a pool nor operators")

    def after(self, decision: Decision, loads: Loads | None = None) -> "Plan":
        """The plan that `decision` leads to. `loads` weighs the substreams of an operator for an even assignment."""
        self.pools_of(decision)
        match decision:
            case Hold():
                return self
            case Scale():
                changed = self._scaled(decision, loads or {})
            case Move():
                changed = self._moved(decision.operator, decision.transfers)
            case Place():
                changed = self._placed(decision)
            case Regroup():
                grouping = {**self.grouping, decision.operator: decision.grouping}
                changed = msgspec.structs.replace(self, grouping=grouping)
            case Fuse():
                changed = self._fused(decision.operators)
            case Split():
                changed = self._split(decision)
            case _:
                raise TypeError(f"{decision!r} is no decision that a plan knows")
        return msgspec.structs.replace(changed, revision=self.revision + 1)

    def _scaled(self, decision: Scale, loads: Loads) -> "Plan":
        resized = _resized(self.pools[decision.pool], decision)
        plan = msgspec.structs.replace(self, pools={**self.pools, decision.pool: resized})
        keyed = [operator for operator in self.sharing(decision.pool) if operator in self.assignment]
        if decision.transfers:
            if len(keyed) != 1:
                raise StaleDecisionError(
                    f"pool {decision.pool!r} serves {len(keyed)} keyed operators: transfers need exactly 1"
                )
            plan = plan._moved(keyed[0], decision.transfers)
        keep = bool(decision.transfers)
        spread = {
            operator: spread_evenly(
                plan.assignment[operator], resized.executors, loads.get(operator), only_orphans=keep
            )
            for operator in keyed
        }
        return msgspec.structs.replace(plan, assignment={**plan.assignment, **spread})

    def _moved(self, operator: OperatorName, transfers: Iterable[Transfer]) -> "Plan":
        if operator not in self.assignment:
            raise StaleDecisionError(f"operator {operator!r} is not keyed: it has no substreams to move")
        owners = list(self.assignment[operator])
        for transfer in transfers:
            if transfer.target not in self.pool(operator).executors:
                raise StaleDecisionError(
                    f"executor {transfer.target} of {operator!r} is not in the plan: nothing can move there"
                )
            for index in transfer.substreams:
                if not 0 <= index < len(owners) or owners[index] != transfer.source:
                    raise StaleDecisionError(f"substream {index} of {operator!r} is not on executor {transfer.source}")
                owners[index] = transfer.target
        return msgspec.structs.replace(self, assignment={**self.assignment, operator: tuple(owners)})

    def _placed(self, decision: Place) -> "Plan":
        pool = self.pools[decision.pool]
        if missing := decision.locations.keys() - set(pool.executors):
            raise StaleDecisionError(
                f"executors {sorted(missing)} of {decision.pool!r} cannot be placed: they are not in the plan"
            )
        placed = msgspec.structs.replace(pool, locations={**pool.locations, **decision.locations})
        return msgspec.structs.replace(self, pools={**self.pools, decision.pool: placed})

    def _fused(self, group: tuple[OperatorName, ...]) -> "Plan":
        self._check_fusable(group)
        pool_of = {**self.pool_of, **dict.fromkeys(group, self.pool_of[group[-1]])}
        apart = tuple(each for each in self.fused if not set(each) & set(group))
        return self._in_pools(pool_of, self.pools, (*apart, group))

    def _check_fusable(self, group: tuple[OperatorName, ...]) -> None:
        if len(set(group)) < max(2, len(group)):
            raise StaleDecisionError(f"{', '.join(map(repr, group))} cannot be fused: name two or more, each once")
        for name in group[:-1]:
            if name in self.assignment:
                raise StaleDecisionError(f"{name!r} is keyed: it can be fused only as the last of its chain")
        if partly := [each for each in self.fused if set(each) & set(group) and not set(each) <= set(group)]:
            raise StaleDecisionError(f"{'+'.join(partly[0])} is already fused: split it first, or fuse all of it")

    def _split(self, decision: Split) -> "Plan":
        group = next((each for each in self.fused if set(each) == set(decision.operators)), None)
        if group is None:
            fused = ", ".join("+".join(each) for each in self.fused)
            raise StaleDecisionError(f"{decision.subject} is not fused: the plan has {fused or 'nothing'} fused")
        others = [OperatorName(name) for name in group[:-1]]
        if fixed := [name for name in others if name in self.assignment]:
            raise StaleDecisionError(f"{'+'.join(group)} stays fused: {fixed[0]!r} is keyed, and not last")
        if decision.executors < 1:
            raise StaleDecisionError(f"{decision.executors} executors for each of {others}: at least 1 is needed")
        own = {operator: PoolName(operator) for operator in others}
        pools = {**{pool: PoolPlan.of(decision.executors) for pool in own.values()}, **self.pools}
        return self._in_pools({**self.pool_of, **own}, pools, tuple(each for each in self.fused if each != group))

    def _in_pools(
        self,
        pool_of: dict[OperatorName, PoolName],
        pools: Mapping[PoolName, PoolPlan],
        fused: tuple[tuple[str, ...], ...],
    ) -> "Plan":
        """With other pools for some operators, and without the pools that serve no operator any more."""
        used = {name: pool for name, pool in pools.items() if name in pool_of.values()}
        return msgspec.structs.replace(self, pools=used, pool_of=pool_of, fused=fused)


def _initial_pools(
    topology: Topology, shared: Sequence[tuple[str, ...]], fused: Sequence[tuple[str, ...]]
) -> dict[OperatorName, PoolName]:
    """Each operator's pool: its own, that of the group that shares one, or that of the last one it is fused with."""
    check_groups(topology, shared, topology.operators, "share a pool with")
    pool_of = {name: PoolName(name) for name in topology.operators}
    for group in shared:
        pool_of |= {OperatorName(name): PoolName("+".join(group)) for name in group}
    for group in fused:
        pool = pool_of[OperatorName(group[-1])]
        pool_of |= {name: pool for name in map(OperatorName, group) if name in pool_of}
    return pool_of


def _contiguous(substreams: int, executors: int) -> tuple[int, ...]:
    return tuple(index * executors // substreams for index in range(substreams))


def _resized(pool: PoolPlan, decision: Scale) -> PoolPlan:
    """`pool` after `decision`: executors leave or join until it has the wanted size."""
    if decision.executors > MOST_EXECUTORS:
        raise StaleDecisionError(
            f"{decision.executors} executors for {decision.pool!r}: a pool has {MOST_EXECUTORS} at most"
        )
    named = set(decision.leaving)
    surplus = pool.size - len(named) - decision.executors
    joining = max(0, -surplus)
    joined = range(pool.next_executor, pool.next_executor + joining)
    leaving = named | set(_newest(set(pool.executors) - named, surplus))
    if missing := leaving - set(pool.executors):
        raise StaleDecisionError(
            f"executors {sorted(missing)} of {decision.pool!r} cannot leave: they are not in the plan"
        )
    staying = tuple(e for e in (*pool.executors, *joined) if e not in leaving)
    if not staying:
        raise StaleDecisionError(f"no executor would be left in {decision.pool!r}; at least 1 must stay")
    standby = pool.standby if decision.standby is None else decision.standby
    if standby < 0:
        raise StaleDecisionError(f"{standby} standbys for {decision.pool!r}: it must be 0 or more")
    return PoolPlan(
        staying,
        pool.next_executor + joining,
        standby,
        {e: spot for e, spot in pool.locations.items() if e in staying},
    )


def _largest(numbers: Mapping[str, int], pool: PoolName, pool_of: Mapping[OperatorName, PoolName], default: int) -> int:
    return max(numbers.get(operator, default) for operator, its_pool in pool_of.items() if its_pool == pool)


def _newest(executors: Iterable[int], count: int) -> list[int]:
    return sorted(executors, reverse=True)[: max(count, 0)]


def _check_known(what: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise StaleDecisionError(f"the plan has no {what} {name!r}; {nearest(name, known)}")


def _check_sizes(topology: Topology, sizes: Mapping[str, int]) -> None:
    topology.operators.check(sizes)
    for name, size in sizes.items():
        if size < 1:
            raise ConfigError(f"operator {name!r}: {size!r} executors; a plan needs at least 1")
