"""The desired state: how many executors serve each operator, which substream is whose, what lies where.

A plan is complete in itself and knows executors only by Rheostat's own numbers. Which process serves as
executor 3 is the plant's business, so that a failed one is replaced without a new plan and a restart finds
everything as it was wanted.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rheostat.chain import check_groups, in_flow_order
from rheostat.decision import Decision, Fuse, Location, Move, Place, Regroup, Scale, Split, Transfer
from rheostat.errors import ConfigError, RheostatError, nearest
from rheostat.substream_assignment import spread_evenly
from rheostat.topology import Topology


class StaleDecisionError(RheostatError):
    """A decision that does not fit the plan in force (an executor or substream is not where it says)."""


class PoolPlan(msgspec.Struct, frozen=True):
    """The executors that serve, by number; `standby` more are kept started and warm, without work."""

    executors: tuple[int, ...]
    next_executor: int
    standby: int = 0
    locations: dict[int, Location] = {}

    @classmethod
    def of(cls, size: int, standby: int = 0) -> "PoolPlan":
        return cls(tuple(range(size)), size, standby)


class Plan(msgspec.Struct, frozen=True):
    """Pools by name, each operator's pool, the executor of each substream, and the grouping of stateless ones.

    Each group in `fused` is one query, its operators in the order of the flow and in one pool. Sources may be in it.
    """

    revision: int
    pools: dict[str, PoolPlan]
    pool_of: dict[str, str]
    assignment: dict[str, tuple[int, ...]] = {}
    grouping: dict[str, str] = {}
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
        wanted = dict.fromkeys(topology.operators, executors) if isinstance(executors, int) else executors
        shared, fused = [tuple(group) for group in shared], [tuple(group) for group in fused]
        _check_sizes(topology, wanted)
        check_groups(topology, shared, topology.operators, "share a pool with")
        check_groups(topology, fused, [part.name for part in topology.parts], "fuse")
        pool_of = {name: name for name in topology.operators}
        pool_of |= {name: "+".join(group) for group in shared for name in group}
        groups = tuple(in_flow_order(topology, group) for group in fused if group)
        pool_of |= {name: pool_of[group[-1]] for group in groups for name in group if name in pool_of}
        sizes = {pool: _largest(wanted, pool, pool_of, 1) for pool in pool_of.values()}
        pools = {pool: PoolPlan.of(size, _largest(standby or {}, pool, pool_of, 0)) for pool, size in sizes.items()}
        assignment = {
            name: tuple(i * sizes[pool_of[name]] // operator.substream_count for i in range(operator.substream_count))
            for name, operator in topology.operators.items()
            if operator.keyed
        }
        return cls(0, pools, pool_of, assignment, dict(grouping or {}), groups)

    def pool(self, operator: str) -> PoolPlan:
        return self.pools[self.pool_of[operator]]

    def size(self, operator: str) -> int:
        """How many executors are wanted for `operator`."""
        return len(self.pool(operator).executors)

    @property
    def total(self) -> int:
        """All executors that serve; warm standbys are not counted."""
        return sum(len(pool.executors) for pool in self.pools.values())

    def sharing(self, pool: str) -> list[str]:
        """The operators that `pool` serves."""
        return [operator for operator, its_pool in self.pool_of.items() if its_pool == pool]

    def group(self, operator: str) -> tuple[str, ...]:
        """All that is fused with `operator`, itself included, in the order of the flow."""
        return next((group for group in self.fused if operator in group), (operator,))

    @property
    def unseen(self) -> frozenset[str]:
        """Operators that are fused behind others: what passes between them is in no stream, and is not measured."""
        groups = [[name for name in group if name in self.pool_of] for group in self.fused]
        return frozenset(name for group in groups for name in group[1:])

    def after(self, decision: Decision, loads: Mapping[str, Sequence[float]] | None = None) -> "Plan":
        """The plan that `decision` leads to. `loads` weighs the substreams of an operator for an even spread."""
        if decision.operator not in self.pool_of:
            raise StaleDecisionError(
                f"the plan has no operator {decision.operator!r}; {nearest(decision.operator, self.pool_of)}"
            )
        match decision:
            case Scale():
                changed = self._scaled(decision, loads or {})
            case Move():
                changed = self._moved(decision.operator, decision.moves)
            case Place():
                changed = self._placed(decision)
            case Regroup():
                changed = msgspec.structs.replace(
                    self, grouping={**self.grouping, decision.operator: decision.grouping}
                )
            case Fuse():
                changed = self._fused(decision)
            case Split():
                changed = self._split(decision)
            case _:
                return self
        return msgspec.structs.replace(changed, revision=self.revision + 1)

    def _scaled(self, decision: Scale, loads: Mapping[str, Sequence[float]]) -> "Plan":
        name = self.pool_of[decision.operator]
        pool = self.pools[name]
        named = set(decision.leaving)
        surplus = len(pool.executors) - len(named) - decision.executors
        joining = max(0, -surplus)
        joined = range(pool.next_executor, pool.next_executor + joining)
        leaving = named | set(_newest(set(pool.executors) - named, surplus))
        if missing := leaving - set(pool.executors):
            raise StaleDecisionError(f"executors {sorted(missing)} of {name!r} cannot leave: the plan has no such")
        staying = tuple(e for e in (*pool.executors, *joined) if e not in leaving)
        if not staying:
            raise StaleDecisionError(f"no executor would be left for {decision.operator!r}; at least 1 must stay")
        standby = pool.standby if decision.standby is None else decision.standby
        if standby < 0:
            raise StaleDecisionError(f"{standby} standbys for {decision.operator!r}: 0 is the least")
        resized = msgspec.structs.replace(
            pool,
            executors=staying,
            next_executor=pool.next_executor + joining,
            standby=standby,
            locations={e: spot for e, spot in pool.locations.items() if e in staying},
        )
        plan = msgspec.structs.replace(self, pools={**self.pools, name: resized})
        plan = plan._moved(decision.operator, decision.moves)
        told = {decision.operator} if decision.moves else set()
        spread = {
            operator: spread_evenly(plan.assignment[operator], staying, loads.get(operator), told=operator in told)
            for operator in self.sharing(name)
            if operator in self.assignment
        }
        return msgspec.structs.replace(plan, assignment={**plan.assignment, **spread})

    def _moved(self, operator: str, moves: Iterable[Transfer]) -> "Plan":
        if not (moves := tuple(moves)):
            return self
        if operator not in self.assignment:
            raise StaleDecisionError(f"operator {operator!r} is not keyed: it has no substreams to move")
        owners = list(self.assignment[operator])
        for move in moves:
            if move.target not in self.pool(operator).executors:
                raise StaleDecisionError(
                    f"executor {move.target} of {operator!r} does not exist: nothing can move there"
                )
            for index in move.substreams:
                if not 0 <= index < len(owners) or owners[index] != move.source:
                    raise StaleDecisionError(f"substream {index} of {operator!r} is not on executor {move.source}")
                owners[index] = move.target
        return msgspec.structs.replace(self, assignment={**self.assignment, operator: tuple(owners)})

    def _placed(self, decision: Place) -> "Plan":
        name = self.pool_of[decision.operator]
        pool = self.pools[name]
        if missing := decision.locations.keys() - set(pool.executors):
            raise StaleDecisionError(f"executors {sorted(missing)} of {name!r} cannot be placed: no such executor")
        placed = msgspec.structs.replace(pool, locations={**pool.locations, **decision.locations})
        return msgspec.structs.replace(self, pools={**self.pools, name: placed})

    def _fused(self, decision: Fuse) -> "Plan":
        group = (*decision.others, decision.operator)
        self._check_fusable(decision)
        pool_of = {**self.pool_of, **dict.fromkeys(decision.others, self.pool_of[decision.operator])}
        apart = tuple(each for each in self.fused if not set(each) & set(group))
        return self._in_pools(pool_of, self.pools, (*apart, group))

    def _check_fusable(self, decision: Fuse) -> None:
        group = (*decision.others, decision.operator)
        if len(set(group)) < max(2, len(group)):
            raise StaleDecisionError(f"{', '.join(map(repr, group))} cannot be fused: name two or more, each once")
        for name in decision.others:
            if name not in self.pool_of:
                raise StaleDecisionError(f"{name!r} cannot be fused: no such operator; {nearest(name, self.pool_of)}")
            if name in self.assignment:
                raise StaleDecisionError(f"{name!r} is keyed: it can be fused only as the last of its chain")
        if torn := [each for each in self.fused if set(each) & set(group) and not set(each) <= set(group)]:
            raise StaleDecisionError(f"{'+'.join(torn[0])} is fused already: split it first, or fuse all of it")

    def _split(self, decision: Split) -> "Plan":
        group = self.group(decision.operator)
        (*others, _) = group
        if not others:
            raise StaleDecisionError(f"{decision.operator!r} is fused with nothing that it could be split from")
        if fixed := [name for name in others if name not in self.pool_of or name in self.assignment]:
            raise StaleDecisionError(f"{'+'.join(group)} stays fused: {fixed[0]!r} is a source or keyed, and not last")
        if decision.executors < 1:
            raise StaleDecisionError(f"{decision.executors} executors for each of {others}: at least 1 is needed")
        pools = {**{name: PoolPlan.of(decision.executors) for name in others}, **self.pools}
        pool_of = {**self.pool_of, **{name: name for name in others}}
        return self._in_pools(pool_of, pools, tuple(each for each in self.fused if each != group))

    def _in_pools(
        self, pool_of: dict[str, str], pools: Mapping[str, PoolPlan], fused: tuple[tuple[str, ...], ...]
    ) -> "Plan":
        """With another pool for some operators; those that serve nobody then are gone."""
        used = {name: pool for name, pool in pools.items() if name in pool_of.values()}
        return msgspec.structs.replace(self, pools=used, pool_of=pool_of, fused=fused)


def _largest(numbers: Mapping[str, int], pool: str, pool_of: Mapping[str, str], default: int) -> int:
    return max(numbers.get(operator, default) for operator, its_pool in pool_of.items() if its_pool == pool)


def _newest(executors: Iterable[int], count: int) -> list[int]:
    return sorted(executors, reverse=True)[: max(count, 0)]


def _check_sizes(topology: Topology, sizes: Mapping[str, int]) -> None:
    for name, size in sizes.items():
        topology.operator(name)
        if size < 1:
            raise ConfigError(f"operator {name!r}: {size!r} executors; a plan needs at least 1")
