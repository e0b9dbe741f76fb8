"""Decisions: what a policy wants to change, why, and the effect it predicts."""

import msgspec

from rheostat.names import OperatorName, PoolName


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a decision is predicted to bring, or what it brought: the same quantities, so that they compare."""

    latency_s: float | None = None
    utilisation: float | None = None
    executors: int | None = None


class Transfer(msgspec.Struct, frozen=True):
    """Substreams that go together from one executor to another."""

    substreams: tuple[int, ...]
    source: int
    target: int


class Location(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where one executor belongs."""

    node: str
    process: int | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """Base of all decisions: the reason in words, the predicted effect, and who asked for it if not the policy did."""

    reason: str
    predicted: Effect | None = None
    by: str | None = None

    @property
    def kind(self) -> str:
        """The decision's name in journals and counts: "hold", "scale", ..."""
        return str(self.__struct_config__.tag)

    @property
    def subject(self) -> str:
        """The pool or the operators that it is about, in words."""
        raise NotImplementedError


class PoolDecision(Decision, frozen=True, kw_only=True):
    """About a pool of executors, and so about all operators that it serves."""

    pool: PoolName

    @property
    def subject(self) -> str:
        return self.pool


class OperatorDecision(Decision, frozen=True, kw_only=True):
    """About one operator."""

    operator: OperatorName

    @property
    def subject(self) -> str:
        return self.operator


class GroupDecision(Decision, frozen=True, kw_only=True):
    """About operators that form a chain, in the order of the flow (see `rheostat.chain`)."""

    operators: tuple[OperatorName, ...]

    @property
    def subject(self) -> str:
        return "+".join(self.operators)


class Hold(PoolDecision, frozen=True, tag="hold"):
    """Nothing is to change in the pool, and why."""


class Scale(PoolDecision, frozen=True, kw_only=True, tag="scale"):
    """`executors` is the new number of executors that serve the pool's operators.

    `leaving` may name those that go (otherwise the newest go). `transfers` are the substreams that change hands in the
    same action, where the pool serves one keyed operator; new executors are numbered onwards from the pool's
    `next_executor`. Left out, the plan moves as few substreams as an even spread needs. `standby` is how many more are
    kept warm from now on; left out, as many as before.
    """

    executors: int
    leaving: tuple[int, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    standby: int | None = None


class Place(PoolDecision, frozen=True, kw_only=True, tag="place"):
    """Executors of the pool go to other nodes or processes; `locations` is by executor."""

    locations: dict[int, Location]


class Move(OperatorDecision, frozen=True, kw_only=True, tag="move"):
    """Substreams of the operator change hands between executors that both stay."""

    transfers: tuple[Transfer, ...]


class Regroup(OperatorDecision, frozen=True, kw_only=True, tag="regroup"):
    """Another way to spread the operator's records over its executors."""

    grouping: str


class Fuse(GroupDecision, frozen=True, tag="fuse"):
    """The operators become one query in the pool of the last of them."""


class Split(GroupDecision, frozen=True, kw_only=True, tag="split"):
    """Operators that are fused come apart again: all that are, not some of them.

    The last of them keeps the pool; each of the others gets one of its own with so many `executors`.
    """

    executors: int = 1


AnyDecision = Hold | Scale | Move | Place | Regroup | Fuse | Split
"""For decoding: the tag says which."""
