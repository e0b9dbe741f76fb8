"""What schedulers and tasks tell each other, apart from sketches."""

from typing import NamedTuple


class SyncRequest(NamedTuple):
    """Rides with a record to `task`: the load that `scheduler` thinks it has given to it, that record included."""

    scheduler: int
    task: int
    epoch: int
    estimate_s: float


class SyncReply(NamedTuple):
    """Δ: by how much the time of that scheduler's records exceeds its estimate, once that record is processed."""

    task: int
    epoch: int
    correction_s: float
