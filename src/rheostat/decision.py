"""What a policy wants done, why, and what it expects of it."""

import msgspec


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
    """Base of all decisions: the operator concerned, the reason in words, the predicted effect."""

    operator: str
    reason: str
    predicted: Effect | None = None

    @property
    def kind(self) -> str:
        """The decision's name in journals and counts: "hold", "scale", ..."""
        return str(self.__struct_config__.tag)


class Hold(Decision, frozen=True, tag="hold"):
    """Nothing is to change, and why."""


class Scale(Decision, frozen=True, tag="scale"):
    """`executors` is the new number of executors that serve the operator.

    `leaving` may name those that go (otherwise the newest go). `moves` are the substreams that change hands
    with it, as one treatment; new executors are numbered onwards from the plan's `next_executor`. Left out,
    the plan moves as few substreams as an even spread needs. `standby` is how many more are kept warm from now on;
    left out, as many as before.
    """

    executors: int
    leaving: tuple[int, ...] = ()
    moves: tuple[Transfer, ...] = ()
    standby: int | None = None


class Move(Decision, frozen=True, tag="move"):
    """Substreams change hands between executors that both stay."""

    moves: tuple[Transfer, ...]


class Place(Decision, frozen=True, tag="place"):
    """Executors of the operator's pool go to other nodes or processes; `locations` is by executor."""

    locations: dict[int, Location]


class Regroup(Decision, frozen=True, tag="regroup"):
    """Another way to spread the operator's records over its executors."""

    grouping: str


class Fuse(Decision, frozen=True, tag="fuse"):
    """The operator and the `others` before it, in the order of the flow, become one query in the operator's pool.

    They must form a chain (see `rheostat.chain`).
    """

    others: tuple[str, ...]


class Split(Decision, frozen=True, tag="split"):
    """The operators that are fused with this one come apart again.

    The last of them keeps the pool; each of the others gets one of its own with so many `executors`.
    """

    executors: int = 1


AnyDecision = Hold | Scale | Move | Place | Regroup | Fuse | Split
"""For decoding: the tag says which."""
