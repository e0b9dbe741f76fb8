"""Compared run: the figures of one run by which policies are compared, the same for the simulator and for Spark."""

import msgspec

from rheostat.experiments.time_series import SeriesPoint


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one policy with one setting ("default" or "tuned") on one plant ("sim" or "spark").

    `success_rate` is the share of SLA windows that were met. `executor_seconds` counts all executors that are paid for,
    starting and standby ones too; `mean_executors` those that serve. `out_of_sla_s` is the longest time without a
    window that met the SLA. `late` and `lost` are records. `scalings` and `moves` are accepted decisions, `reversals`
    scale-outs that were taken back within a minute, and `scale_ins_late` scale-ins while the SLA was missed.
    """

    scenario: str
    policy: str
    setting: str
    plant: str
    seed: int
    duration_s: float
    success_rate: float | None
    mean_executors: float
    executor_seconds: float
    mean_latency_s: float | None
    p99_latency_s: float | None
    out_of_sla_s: float
    late: int
    lost: int
    scalings: int
    moves: int
    reversals: int
    scale_ins_late: int
    saved_resources: float
    throughput_degradation: float | None
    series: tuple[SeriesPoint, ...] = ()
