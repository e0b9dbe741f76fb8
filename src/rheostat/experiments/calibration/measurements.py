"""Measurements: what a calibration saw of an application on Spark, before anything is fitted to it."""

import msgspec

from rheostat.names import OperatorName


class BatchSample(msgspec.Struct, frozen=True, kw_only=True):
    """One committed batch of an operator. Times are in seconds since the measurement began.

    `executors` served during all of it; None if their number changed meanwhile. `is_first` says that since the batch
    before it executors have joined or substreams have moved: it includes what that costs. `waited_s` is the mean time
    of its records from their arrival at the operator to the commit, `latency_s` the one from their entry.
    """

    started_s: float
    committed_s: float
    rows: int
    executors: int | None
    is_first: bool = False
    waited_s: float | None = None
    latency_s: float | None = None

    @property
    def duration_s(self) -> float:
        return self.committed_s - self.started_s


class OperatorSamples(msgspec.Struct, frozen=True, kw_only=True):
    """One operator: its batches, and its records timed alone in the executors (`timed` of them, mean and variation).

    `rows_read` are by stream, `substream_rows` by substream.
    """

    batches: tuple[BatchSample, ...]
    rows_read: dict[str, int]
    timed: int = 0
    timed_s: float | None = None
    timed_scv: float | None = None
    substream_rows: tuple[int, ...] = ()


class ExecutorStarts(msgspec.Struct, frozen=True, kw_only=True):
    """Executors that were requested together: how long each took to register, and then until it served."""

    registered_s: tuple[float, ...]
    served_s: tuple[float, ...]


class MeasuredSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the measurement, with one number of executors for each operator and one input rate by source.

    `reached_s` is when all executors served; before that, from `began_s` on, they were starting.
    """

    executors: int
    began_s: float
    reached_s: float
    ended_s: float
    input_rates: dict[str, float]


class Measurements(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was measured; `source_batches_s` are the durations of the batches that read each source."""

    settings: tuple[MeasuredSetting, ...]
    operators: dict[OperatorName, OperatorSamples]
    starts: tuple[ExecutorStarts, ...]
    source_batches_s: dict[str, tuple[float, ...]]
