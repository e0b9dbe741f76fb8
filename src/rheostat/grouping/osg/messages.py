"""Messages between schedulers and tasks, apart from sketches."""

from typing import NamedTuple


class SyncRequest(NamedTuple):
    """Sent with a record to `task`: the load that `scheduler` estimates to have given it, this record included."""

    scheduler: int
    task: int
    epoch: int
    estimate_s: float


class SyncReply(NamedTuple):
    """Δ: by how much the time of that scheduler's records exceeds its estimate, after that record."""

    task: int
    epoch: int
    correction_s: float
