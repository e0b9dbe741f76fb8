"""Tuning grids: the settings of each policy from which the best one is taken for a scenario, on separate seeds.

The default setting, which is that of the policy's paper or of the system it is from, always takes part and is not
listed. A grid varies what its users are told to vary: targets and thresholds, reserves, the time between decisions and
after an action. Values do not depend on a scenario, so nothing in a grid knows the load. `docs/tuning.md` gives the
reasons.
"""

from collections.abc import Mapping, Sequence
from typing import Any

TUNING_SEEDS = (1000,)
"""Comparisons use 0, 1, 2 and so on. One run of each setting: more would take longer than the comparison itself."""

_DRS: Sequence[Mapping[str, Any]] = (
    {"margin": 0.1},
    {"margin": 0.35},
    {"margin": 0.5},
    {"margin": 0.35, "t_ra": "20s"},
    {"margin": 0.35, "smoothing": "none"},
)

GRIDS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "static": tuple({"executors": executors} for executors in (2, 4, 8, 12, 16)),
    "threshold": (
        {"high": 0.7, "low": 0.3},
        {"high": 0.6, "low": 0.3},
        {"high": 0.5, "low": 0.2},
        {"high": 0.6, "low": 0.3, "smoothing": "window:5"},
    ),
    "spark-dra": (
        {"idle_timeout": "15s"},
        {"idle_timeout": "30s", "backlog_timeout": "3s"},
        {"idle_timeout": "15s", "partitions": 20},
        {"idle_timeout": "15s", "partitions": 20, "ratio": 0.5},
    ),
    "lag": (
        {"lag_threshold": 50, "stabilisation": "1m", "cooldown": "1m"},
        {"lag_threshold": 100, "stabilisation": "1m", "cooldown": "1m"},
        {"lag_threshold": 200, "stabilisation": "1m", "cooldown": "1m"},
        {"lag_threshold": 50, "stabilisation": "1m", "cooldown": "1m", "interval": "5s"},
        {"lag_threshold": 100, "stabilisation": "2m", "cooldown": "2m", "interval": "5s"},
    ),
    "ds2": (
        {"scaling_factor": 0.3},
        {"scaling_factor": 0.6},
        {"scaling_factor": 0.3, "interval": "5s", "warm_up": 1},
        {"scaling_factor": 0.6, "interval": "5s", "warm_up": 1},
        {"scaling_factor": 0.3, "interval": "30s", "target_rate_ratio": 1.05},
    ),
    "flink": tuple(
        {
            "target_utilisation": target,
            "metrics_window": window,
            "stabilisation": "20s",
            "catch_up": catch_up,
            "restart": "10s",
            "scale_down_interval": "2m",
        }
        for target, window, catch_up in (
            (0.7, "1m", "2m"),
            (0.5, "1m", "2m"),
            (0.7, "30s", "30s"),
            (0.5, "30s", "30s"),
        )
    ),
    "drs": _DRS,
    "drs-lb": _DRS,
    "streamswitch": (
        {"epsilon": 0.1},
        {"epsilon": 0.35},
        {"epsilon": 0.5},
        {"epsilon": 0.35, "eta": 0.5},
        {"epsilon": 0.35, "T": "10s"},
    ),
    "pa-sps": (
        {"headroom": 0.3},
        {"headroom": 0.3, "td": "10s"},
        {"headroom": 0.6, "td": "10s"},
        {"headroom": 0.3, "td": "10s", "predictor": "linear"},
        {"headroom": 0.3, "td": "10s", "predictor": "select", "window": 600},
    ),
    "psps": (
        {"headroom": 0.3},
        {"headroom": 0.6},
        {"headroom": 0.3, "td": "10s"},
        {"headroom": 0.6, "td": "10s"},
    ),
    "dabs": (
        {"sample": "5s", "iteration": "20s"},
        {"sample": "5s", "iteration": "20s", "weight": 0.6},
        {"weight": 0.6},
        {"sample": "5s", "iteration": "20s", "weight": 0.6, "beta": 0.6},
        {"combine": "min", "beta": 0.6},
    ),
    "q-learning": tuple({"smoothing": smoothing} for smoothing in ("none", "window:6", "window:12", "alpha:0.8")),
    "rheostat": (
        {"caution": 0.5},
        {"caution": 0.98},
        {"keep": "15s"},
        {"keep": "1m"},
        {"caution": 0.98, "penalty": 15.0},
    ),
    "ra-stream": (
        {"scaling": "drs"},
        {"scaling": "drs", "scaling_options": {"margin": 0.35}},
        {"scaling": "streamswitch"},
        {"scaling": "threshold", "scaling_options": {"high": 0.6, "low": 0.3}},
    ),
}
"""By the name of the policy. `q-learning` also needs a table, which is trained on the scenario's own load."""
