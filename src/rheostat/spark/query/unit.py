"""Unit: the operators that run in one query. Each operator is a unit of its own unless it is fused with others.

A source is a unit as well. Its query copies records from outside into the first stream and stamps their entry times,
so every operator reads from a stream whose backlog can be counted, whatever the source is. A Kafka topic is such a
stream itself: the operators behind it read it without a copy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rheostat.chain import check_groups, in_flow_order
from rheostat.errors import TopologyError
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.topology import Operator, Source, Topology


@dataclass(frozen=True)
class Unit:
    """What one query runs: a source, or operators in flow order, or both. `parts` are their names."""

    topology: Topology
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return "+".join(self.parts)

    @property
    def source(self) -> Source | None:
        return next((self.topology.sources[name] for name in self.parts if name in self.topology.sources), None)

    @property
    def operators(self) -> tuple[Operator, ...]:
        return tuple(self.topology.operators[name] for name in self.parts if name in self.topology.operators)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The streams that the query reads: those of other units and, on a loop, its own."""
        made = {self.source.name} if self.source else set()
        read: list[str] = []
        for operator in self.operators:
            read += [name for name in operator.inputs if name not in made]
            made |= operator.selectivities.keys()
        return tuple(dict.fromkeys(read))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The streams that the query writes for other units or, on a loop, for its own next batches."""
        read = {stream.name for stream in self.topology.streams if stream.consumer not in self.parts}
        return tuple(name for name in self._own_streams if name in read or name in self.inputs)

    @property
    def results(self) -> tuple[str, ...]:
        """The streams that nobody reads: they leave the topology through sinks."""
        read = {stream.name for stream in self.topology.streams}
        return tuple(name for name in self._own_streams if name not in read)

    @property
    def stream(self) -> str:
        """The name of the stream that the query writes: the last part's, or the unit's if other parts write as well.

        So the stream keeps its name when other operators are fused with its writer.
        """
        last = self.parts[-1]
        own = self.topology.operators[last].selectivities if last in self.topology.operators else {last: 1.0}
        return last if set(own) >= {*self.outputs, *self.results} else self.name

    @property
    def has_several_outputs(self) -> bool:
        """Whether the query's one stream holds several outputs, each row with the name of its own."""
        return len(self.outputs) + len(self.results) > 1

    @property
    def keyed(self) -> bool:
        return any(operator.keyed for operator in self.operators)

    @property
    def substreams(self) -> int | None:
        """The number of state partitions; None without a keyed operator."""
        return next((operator.substreams for operator in self.operators if operator.keyed), None)

    @property
    def _own_streams(self) -> tuple[str, ...]:
        written = [name for operator in self.operators for name in operator.selectivities]
        return (self.source.name, *written) if self.source else tuple(written)


def topics_of(topology: Topology) -> dict[str, KafkaTopic]:
    """The sources that are Kafka topics."""
    readers = {name: source.reader for name, source in topology.sources.items()}
    return {name: reader for name, reader in readers.items() if isinstance(reader, KafkaTopic)}


def units_of(topology: Topology, fused: Iterable[Sequence[str]] = ()) -> tuple[Unit, ...]:
    """The units of `topology` in its order: one for each group in `fused`, one for each other source and operator."""
    groups = [tuple(group) for group in fused if group]
    check_groups(topology, groups, [part.name for part in topology.parts], "fuse")
    grouped = {name for group in groups for name in group}
    topics = topics_of(topology)
    for name in grouped & topics.keys():
        raise TopologyError(
            f"cannot fuse {name!r}: it is a Kafka topic, which operators read without a query of its own"
        )
    alone = [(part.name,) for part in topology.parts if part.name not in grouped | topics.keys()]
    units = [Unit(topology, in_flow_order(topology, group)) for group in (*alone, *groups)]
    for unit in units:
        _check_unit(unit)
    position = {part.name: index for index, part in enumerate(topology.parts)}
    return tuple(sorted(units, key=lambda unit: position[unit.parts[0]]))


def _check_unit(unit: Unit) -> None:
    sources = [name for name in unit.parts if name in unit.topology.sources]
    if len(sources) > 1 or (sources and unit.inputs):
        others = ", ".join(repr(name) for name in (*sources[1:], *unit.inputs))
        raise TopologyError(
            f"cannot fuse {unit.name!r}: a query with source {sources[0]!r} reads nothing else, and this one would "
            f"read {others}"
        )
    counts = {operator.name: operator.substreams for operator in unit.operators if operator.keyed}
    if len(set(counts.values())) > 1:
        raise TopologyError(
            f"cannot fuse {unit.name!r}: keyed operators in one query need the same number of substreams, not {counts}"
        )
