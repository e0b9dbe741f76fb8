"""Measures: rates, utilisation and latency that are derived from two successive snapshots, smoothed or not."""

import msgspec

from rheostat.names import OperatorName


class OperatorMeasures(msgspec.Struct, frozen=True):
    """One operator over the last period (or smoothed over several); None where it could not be measured.

    `service_rate` is the plain mean over executors of completions per useful second, so that executors times
    service rate is the capacity. `utilisation` is useful time over the time of the executors that serve.
    """

    arrival_rate: float | None = None
    completion_rate: float | None = None
    service_rate: float | None = None
    utilisation: float | None = None
    queued: float | None = None
    latency_s: float | None = None
    arrival_scv: float | None = None
    service_scv: float | None = None


class Measures(msgspec.Struct, frozen=True):
    """All operators by name over `interval_s` seconds; `latency_s` and `external_rate` are the topology's.

    `external_rate` is of records that came until `external_until_s`: some sources are read in batches, so that this may
    be before the snapshot.
    """

    interval_s: float
    operators: dict[OperatorName, OperatorMeasures]
    latency_s: float | None = None
    external_rate: float | None = None
    external_until_s: float | None = None
