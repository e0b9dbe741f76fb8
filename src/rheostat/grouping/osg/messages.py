"""What schedulers and tasks tell each other, apart from sketches."""

from typing import NamedTuple


class SyncRequest(NamedTuple):
    """Rides with a record to `task`: the load that the scheduler thinks the task has, that record included."""

    task: int
    epoch: int
    estimate_s: float


class SyncReply(NamedTuple):
    """Δ: by how much the task's cumulated time exceeds the estimate, once it has processed that record."""

    task: int
    epoch: int
    correction_s: float
