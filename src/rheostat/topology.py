"""Topology: sources, operators and the streams between them. Frozen, and checked when it is built.

An operator names the streams it reads, so that a topology is a plain list in any order:

    Topology("word count", [
        Source("sentences"),
        Operator("split", inputs="sentences", selectivity=8),
        Operator("count", inputs="split", key="word", substreams=16),
    ])

A stream is named by the source or operator that writes it; an operator with several outputs writes
`operator.output`. Every reader of a stream gets all of it. Loops are allowed as long as they do not amplify.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rheostat.duration import Duration
from rheostat.errors import TopologyError, nearest
from rheostat.graph import reachable, spectral_radius, strong_components
from rheostat.names import OperatorName
from rheostat.topology_shape import fingerprint_of, shape_of

if TYPE_CHECKING:
    import rheostat

DEFAULT_SUBSTREAMS = 16

REJECTED = "rejected"
"""The output for records that cannot be used. They are a result: no operator has to read them."""


class TopologyWarning(UserWarning):
    """Something in a topology that is allowed but probably a mistake."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of records. `rate` is the expected rate in records/s, for planning; `reader` opens it on Spark."""

    name: str
    rate: float | None = None
    reader: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_name("source", self.name)
        if self.rate is not None and not (math.isfinite(self.rate) and self.rate > 0):
            raise TopologyError(f"source {self.name!r}: rate {self.rate!r} must be a number > 0")


@dataclass(frozen=True, slots=True)
class Operator:
    """One user function, stateless or keyed.

    `key` is the column whose value decides the substream; without it the operator is stateless.
    `selectivity` is the mean number of records written per record read; with several `outputs` it is given
    for each of them (a mapping), or is 1 for all of them (a list of names).
    `merge` names the operator behind a keyed one that merges partial results: only then may the records of
    one key be spread over several executors.
    `function` is what runs on Spark; the simulator does not need it.
    """

    name: str
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    inputs: Sequence[str] = ()
    outputs: Mapping[str, float] | Sequence[str] = ()
    selectivity: float = 1.0
    key: str | None = None
    substreams: int | None = None
    merge: str | None = None

    def __post_init__(self) -> None:
        _check_name("operator", self.name)
        freeze = object.__setattr__
        freeze(self, "inputs", (self.inputs,) if isinstance(self.inputs, str) else tuple(self.inputs))
        if not isinstance(self.outputs, Mapping):
            freeze(self, "outputs", dict.fromkeys(self.outputs, 1.0))
        for output in self.outputs:
            _check_name(f"operator {self.name!r}: output", output)
        for stream, selectivity in self.selectivities.items():
            if not (math.isfinite(selectivity) and selectivity >= 0):
                raise TopologyError(f"stream {stream!r}: selectivity {selectivity!r} must be a number >= 0")
        self._check_key()

    def _check_key(self) -> None:
        if self.key is None and self.substreams is not None:
            raise TopologyError(
                f"operator {self.name!r} has {self.substreams} substreams but no key: "
                "name the key column, or leave the substreams out"
            )
        if self.key is None and self.merge is not None:
            raise TopologyError(f"operator {self.name!r} has a merge ({self.merge!r}) but no key to merge by")
        if self.key == "":
            raise TopologyError(f"operator {self.name!r}: the key is empty; name a column, or use None")
        if self.key is not None and self.substreams is None:
            object.__setattr__(self, "substreams", DEFAULT_SUBSTREAMS)
        if self.substreams is not None and self.substreams < 1:
            raise TopologyError(f"operator {self.name!r}: {self.substreams!r} substreams; it needs at least 1")

    @property
    def keyed(self) -> bool:
        return self.key is not None

    @property
    def substream_count(self) -> int:
        """Substreams of a keyed operator; 0 for a stateless one."""
        return self.substreams or 0

    @property
    def selectivities(self) -> dict[str, float]:
        """Mean records written to each stream for one record read, by the stream's full name."""
        if not self.outputs:
            return {self.name: self.selectivity}
        assert isinstance(self.outputs, Mapping)
        return {f"{self.name}.{output}": value for output, value in self.outputs.items()}


@dataclass(frozen=True, slots=True)
class Stream:
    """The stream `name` from `producer` to `consumer`; `selectivity` is 1 for the stream of a source."""

    name: str
    producer: str
    consumer: OperatorName
    selectivity: float

    def __str__(self) -> str:
        return f"{self.name}->{self.consumer}"


class Operators(dict[OperatorName, Operator]):
    """The operators of a topology by name. An unknown name is an error that suggests the one meant."""

    def __init__(self, topology: str, operators: Iterable[Operator]) -> None:
        super().__init__({OperatorName(operator.name): operator for operator in operators})
        self._topology = topology

    if TYPE_CHECKING:

        def __getitem__(self, name: str) -> Operator:
            """Any name may be looked up."""

    def __missing__(self, name: str) -> Operator:
        raise TopologyError(f"topology {self._topology!r} has no operator {name!r}; {nearest(name, self)}")

    def check(self, names: Iterable[str]) -> None:
        """Refuse the first of `names` that is unknown."""
        for name in names:
            _ = self[name]


@dataclass(frozen=True)
class Topology:
    """Sources and operators under one name. A wrong one is refused with a `TopologyError` that names the mistake."""

    name: str
    parts: Iterable[Source | Operator]

    def __post_init__(self) -> None:
        _check_name("topology", self.name)
        object.__setattr__(self, "parts", tuple(self.parts))
        self._check_unique_names()
        self._check_inputs_exist()
        self._check_everything_is_fed()
        self._check_merges()
        self._check_loops()
        self._warn_of_unread_streams()

    @cached_property
    def sources(self) -> dict[str, Source]:
        return {part.name: part for part in self.parts if isinstance(part, Source)}

    @cached_property
    def operators(self) -> "Operators":
        """By name, in the order of declaration (which also breaks ties)."""
        return Operators(self.name, [part for part in self.parts if isinstance(part, Operator)])

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(
            Stream(stream, self._written[stream][0], name, self._written[stream][1])
            for name, operator in self.operators.items()
            for stream in operator.inputs
        )

    @cached_property
    def terminals(self) -> tuple[OperatorName, ...]:
        """Operators from which records leave the topology: no operator reads what they write."""
        read = {stream.name for stream in self.streams}
        return tuple(
            name
            for name, operator in self.operators.items()
            if not any(stream in read for stream in operator.selectivities)
        )

    @cached_property
    def routing(self) -> np.ndarray:
        """P of the traffic equations: mean records into operator j for one record processed by operator i."""
        position: dict[str, int] = {name: index for index, name in enumerate(self.operators)}
        matrix = np.zeros((len(position), len(position)))
        for stream in self.streams:
            if stream.producer in position:
                matrix[position[stream.producer], position[stream.consumer]] += stream.selectivity
        matrix.setflags(write=False)
        return matrix

    def start(self, **options: Unpack["rheostat.StartOptions"]) -> "rheostat.Pipeline":
        """Start it on Spark under control, with the options of `rheostat.start`. Needs PySpark."""
        import rheostat

        return rheostat.start(self, **options)

    def run(self, *, for_: Duration | None = None, **options: Unpack["rheostat.StartOptions"]) -> None:
        """Run it on Spark for a time or until it is stopped, as `rheostat.run` does. Needs PySpark."""
        import rheostat

        rheostat.run(self, for_=for_, **options)

    def into(self, operator: str) -> tuple[Stream, ...]:
        """The streams that `operator` reads."""
        return tuple(stream for stream in self.streams if stream.consumer == operator)

    def out_of(self, producer: str) -> tuple[Stream, ...]:
        """The streams of `producer`, once for each reader."""
        return tuple(stream for stream in self.streams if stream.producer == producer)

    def fingerprint(self) -> str:
        """Equal for topologies that can use each other's state and journals: same names, streams and substreams."""
        return fingerprint_of(shape_of(self))

    @cached_property
    def _written(self) -> dict[str, tuple[str, float]]:
        """Producer and selectivity of each stream, by the stream's name."""
        written = {name: (name, 1.0) for name in self.sources}
        for operator in self.operators.values():
            for name, selectivity in operator.selectivities.items():
                written[name] = (operator.name, selectivity)
        return written

    @cached_property
    def _successors(self) -> dict[str, list[str]]:
        successors: dict[str, list[str]] = {part.name: [] for part in self.parts}
        for stream in self.streams:
            successors[stream.producer].append(stream.consumer)
        return successors

    def _check_unique_names(self) -> None:
        seen: set[str] = set()
        for part in self.parts:
            if part.name in seen:
                raise TopologyError(f"two parts of topology {self.name!r} are called {part.name!r}: rename one")
            seen.add(part.name)
        if not self.operators:
            raise TopologyError(f"topology {self.name!r} has no operator")

    def _check_inputs_exist(self) -> None:
        for operator in self.operators.values():
            if not operator.inputs:
                raise TopologyError(f"nothing feeds operator {operator.name!r}: name its inputs")
            for position, name in enumerate(operator.inputs):
                if name not in self._written:
                    raise TopologyError(
                        f"operator {operator.name!r} reads {name!r}, which nothing writes; "
                        f"{nearest(name, self._written)}"
                    )
                if name in operator.inputs[:position]:
                    raise TopologyError(f"operator {operator.name!r} reads {name!r} twice")

    def _check_everything_is_fed(self) -> None:
        fed = reachable(self.sources, self._successors)
        for name in self.operators:
            if name not in fed:
                raise TopologyError(
                    f"no source feeds operator {name!r}: its inputs come only from operators that are not fed"
                )

    def _check_merges(self) -> None:
        for operator in self.operators.values():
            if operator.merge is None:
                continue
            behind = reachable(self._successors[operator.name], self._successors)
            if operator.merge not in behind:
                raise TopologyError(
                    f"operator {operator.name!r}: its merge {operator.merge!r} is not behind it; "
                    f"{nearest(operator.merge, behind)}"
                )

    def _check_loops(self) -> None:
        position: dict[str, int] = {name: index for index, name in enumerate(self.operators)}
        for component in strong_components(self._successors):
            members = [position[name] for name in component if name in position]
            gain = spectral_radius(self.routing[np.ix_(members, members)])
            if gain >= 1 - 1e-12:
                loop = ", ".join(name for name in self.operators if name in component)
                raise TopologyError(
                    f"the loop through {loop} amplifies: its gain is {gain:.4g} and must be below 1 "
                    "(lower the selectivities on the loop)"
                )

    def _warn_of_unread_streams(self) -> None:
        read = {stream.name for stream in self.streams}
        for name, (producer, _) in self._written.items():
            forgotten = name != producer and producer not in self.terminals and name != f"{producer}.{REJECTED}"
            if name not in read and (producer in self.sources or forgotten):
                warnings.warn(f"no operator reads stream {name!r}", TopologyWarning, stacklevel=4)


def _check_name(what: str, name: str) -> None:
    if not isinstance(name, str) or not name.strip():
        raise TopologyError(f"{what} name {name!r} must be a non-empty string")
    if what != "topology" and set(name) & set("./\\\0"):
        raise TopologyError(f"{what} name {name!r} must not contain a dot, a slash or a backslash")
