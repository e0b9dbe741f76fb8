"""Snapshots of a small topology over one iteration, made from volumes per sample."""

from rheostat.policies.dabs.monitor import Iteration
from rheostat.snapshot import OperatorState, Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "two", [Source("in"), Operator("first", inputs="in", selectivity=1.5), Operator("second", inputs="first")]
)
SAMPLE_S = 10.0


def snapshots(
    arrivals,
    behind=None,
    *,
    pending=None,
    rows=None,
    completed=None,
    streams=None,
    unknown=False,
    extra=None,
    busy_s=1.0,
    **others,
):
    """One more than there are samples. `arrivals` are those of `first`, `behind` those of `second`, per sample;
    everything that arrived was completed, unless `completed` says how much of it in the whole iteration."""
    volumes = {"first": arrivals, "second": behind or [10] * len(arrivals), **others}
    made = []
    for sample in range(len(arrivals) + 1):
        share = sample / len(arrivals)
        operators = tuple(
            OperatorState(
                name,
                arrived=None if unknown else sum(volume[:sample]),
                completed=sum(volume[:sample]) if completed is None or name != "first" else round(completed * share),
                queued=(pending or {}).get(name, 0),
                busy_s=busy_s * sample,
            )
            for name, volume in volumes.items()
        )
        told = streams or ({("first", "second"): rows} if rows is not None else {})
        flows = tuple(StreamState(name, to, rows=round(total * share)) for (name, to), total in told.items())
        time_s = sample * SAMPLE_S
        more = extra(time_s) if extra is not None else {}
        made.append(Snapshot(time_s, operators, streams=flows, **more))
    return made


def iteration(seen):
    return Iteration(tuple(seen))
