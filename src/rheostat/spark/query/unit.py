"""Which operators share a query: each one its own, unless they are fused.

A source is a unit too: it moves records from outside into the first stream and stamps their entry. So whoever
reads them has a queue of known length in front of it, whatever the source is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rheostat.chain import check_groups, in_flow_order
from rheostat.errors import TopologyError
from rheostat.topology import Operator, Source, Topology


@dataclass(frozen=True)
class Unit:
    """One query: a source, or operators in the order in which they feed each other, or both."""

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
        """Streams that this query reads: from other units, or around a loop from itself."""
        made = {self.source.name} if self.source else set()
        read: list[str] = []
        for operator in self.operators:
            read += [name for name in operator.inputs if name not in made]
            made |= operator.selectivities.keys()
        return tuple(dict.fromkeys(read))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Streams that this query writes for others, or for its own next batches."""
        read = {stream.name for stream in self.topology.streams if stream.consumer not in self.parts}
        return tuple(name for name in self._own_streams if name in read or name in self.inputs)

    @property
    def results(self) -> tuple[str, ...]:
        """Streams that leave the topology, since nobody reads them."""
        read = {stream.name for stream in self.topology.streams}
        return tuple(name for name in self._own_streams if name not in read)

    @property
    def stream(self) -> str:
        """What all that it writes is called: like the last part, or like the unit where not only that one writes.

        So the stream stays the same when others are fused with its writer.
        """
        last = self.parts[-1]
        own = self.topology.operators[last].selectivities if last in self.topology.operators else {last: 1.0}
        return last if set(own) >= {*self.outputs, *self.results} else self.name

    @property
    def keyed(self) -> bool:
        return any(operator.keyed for operator in self.operators)

    @property
    def substreams(self) -> int | None:
        """State partitions, if there is state."""
        return next((operator.substreams for operator in self.operators if operator.keyed), None)

    @property
    def _own_streams(self) -> tuple[str, ...]:
        written = [name for operator in self.operators for name in operator.selectivities]
        return (self.source.name, *written) if self.source else tuple(written)


def units_of(topology: Topology, fused: Iterable[Sequence[str]] = ()) -> tuple[Unit, ...]:
    """Every part of `topology` in one unit, those of a group in `fused` together."""
    groups = [tuple(group) for group in fused if group]
    check_groups(topology, groups, [part.name for part in topology.parts], "fuse")
    grouped = {name for group in groups for name in group}
    alone = [(part.name,) for part in topology.parts if part.name not in grouped]
    units = [Unit(topology, in_flow_order(topology, group)) for group in (*alone, *groups)]
    for unit in units:
        _check_unit(unit)
    position = {part.name: index for index, part in enumerate(topology.parts)}
    return tuple(sorted(units, key=lambda unit: position[unit.parts[0]]))


def _check_unit(unit: Unit) -> None:
    sources = [name for name in unit.parts if name in unit.topology.sources]
    if len(sources) > 1 or (sources and unit.inputs):
        others = ", ".join(repr(name) for name in (*sources[1:], *unit.inputs))
        raise TopologyError(f"cannot fuse {unit.name!r}: beside source {sources[0]!r} it would read {others}")
    counts = {operator.name: operator.substreams for operator in unit.operators if operator.keyed}
    if len(set(counts.values())) > 1:
        raise TopologyError(f"cannot fuse {unit.name!r}: one query has one number of substreams, not {counts}")
