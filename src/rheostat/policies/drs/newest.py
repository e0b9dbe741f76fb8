"""The rate at which records entered since the last look, before any smoothing."""

from rheostat.measure.counter import Counter
from rheostat.measure.unknown import total
from rheostat.snapshot import Snapshot
from rheostat.topology import Topology


class NewestRate:
    """Follows the sources. Of a source that several operators read, what the first of them reads counts."""

    def __init__(self, topology: Topology) -> None:
        self._counters: dict[tuple[str, str], Counter] = {}
        for name in topology.sources:
            read = [stream for stream in topology.streams if stream.producer == name]
            self._counters.update({(stream.name, stream.consumer): Counter() for stream in read[:1]})
        self.rate: float | None = None

    def see(self, snapshot: Snapshot) -> None:
        rows = {(stream.name, stream.consumer): stream.rows for stream in snapshot.streams}
        rates = [counter.rate(rows.get(stream), snapshot.time_s) for stream, counter in self._counters.items()]
        self.rate = total(rates)
