"""Compared runs with chosen figures, for tests."""

from typing import Any

from rheostat.experiments.comparison.compared_run import ComparedRun


def compared_run(policy: str = "drs", success: float | None = 1.0, cost: float = 100.0, **figures: Any) -> ComparedRun:
    fields: dict[str, Any] = {
        "scenario": "small", "setting": "default", "plant": "sim", "seed": 0, "duration_s": 60.0,
        "mean_executors": 2.0, "mean_latency_s": 1.0, "p99_latency_s": 2.0, "out_of_sla_s": 0.0, "late": 0, "lost": 0,
        "scalings": 1, "moves": 0, "reversals": 0, "scale_ins_late": 0, "saved_resources": 0.5,
        "throughput_degradation": 0.1,
    }  # fmt: skip
    return ComparedRun(policy=policy, success_rate=success, executor_seconds=cost, **(fields | figures))
