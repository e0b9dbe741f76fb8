"""The rate at which records entered since the last look, before any smoothing."""

from collections import deque

from rheostat.measure.counter import Counter
from rheostat.measure.unknown import total
from rheostat.names import OperatorName
from rheostat.snapshot import Snapshot
from rheostat.topology import Topology

_LOOKS = 5


class NewestRate:
    """Follows the sources. Of a source that several operators read, what the first of them reads counts.

    Where looks find nothing in between, records are counted in gulps, as a plant does that counts them when a batch
    reads them: then the last look alone says nothing, and the rate is not known.
    """

    def __init__(self, topology: Topology) -> None:
        self._counters: dict[tuple[str, OperatorName], Counter] = {}
        for name in topology.sources:
            read = [stream for stream in topology.streams if stream.producer == name]
            self._counters.update({(stream.name, stream.consumer): Counter() for stream in read[:1]})
        self._rates: deque[float | None] = deque(maxlen=_LOOKS)

    @property
    def rate(self) -> float | None:
        return self._rates[-1] if self._rates and 0 not in self._rates else None

    def see(self, snapshot: Snapshot) -> None:
        rows = {(stream.name, stream.consumer): stream.rows for stream in snapshot.streams}
        rates = [counter.rate(rows.get(stream), snapshot.time_s) for stream, counter in self._counters.items()]
        self._rates.append(total(rates))
