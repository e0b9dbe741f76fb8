"""Workloads of the StreamSwitch paper: orders of a stock exchange, and queries over auctions.

Rates, periods, skew, (L, T), l and δ are the paper's; runs are shorter. With fewer records, l and δ as printed would
let the noise of single records decide.
"""

from collections.abc import Mapping
from typing import Any

from rheostat.experiments.reproduce.sweep import scenario_of
from rheostat.experiments.scenario import Scenario

SUBSTREAMS = 64
BASE = 30_000.0
"""Records per second of the queries over auctions, on average."""

SLOT_S = 0.1
SWITCH: dict[str, Any] = {"l": SLOT_S, "delta": SLOT_S}
"""l and δ as in the paper."""

SAMZA: dict[str, Any] = {"pause": "executors", "start": "1s", "move_delay": "600ms"}
"""A switch pauses the two executors involved (section 5), for so long that the latency of the substreams that move
overshoots a second slightly, as in figures 7 to 9."""

FLINK: dict[str, Any] = {"pause": "drain"}
"""The two executors involved first do what is before the barrier in their queues (section 5.2): the second engine."""

AUCTION_MOVE_S = 0.3
"""What it takes to move the state of a query over auctions: with it a switch on Flink takes half a second at first, as
in figure 14."""

_MAX_EXECUTORS = 40


def keyed(
    name: str,
    load: Any,
    rate: float,
    *,
    duration_s: float,
    executors: int,
    bound_s: float = 1.0,
    window_s: float = 1.0,
    period_s: float = SLOT_S,
    resolution_s: float = 0.1,
    keys: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    **source: Any,
) -> Scenario:
    """One keyed operator with 64 substreams, whose executors each process `rate` records a second."""
    return scenario_of(
        name=name,
        duration=duration_s,
        period=period_s,
        resolution=resolution_s,
        source=[{"name": "in", "load": load, "keys": keys or {"zipf": 0.3, "keys": 1000}, **source}],
        operator=[
            {
                "name": "work",
                "inputs": ["in"],
                "key": "key",
                "substreams": SUBSTREAMS,
                "executors": executors,
                "service": {"mean": 1 / rate},
                "state_bytes": 1e6,
            }
        ],
        sla=[{"latency": bound_s, "window": window_s, "operator": "work"}],
        budget={"total": _MAX_EXECUTORS},
        cluster=SAMZA | (cluster or {}),
    )


_ORDERS_PER_S, _ORDERS_RATE = 1000.0, 195.0
"""The latter so that Switch(0.2) uses about as many executors as in the paper."""

_SPIKES, _SPIKE_S = (80.0, 70.0), 0.08


JUMPS: dict[str, Any] = {"shape": "erratic", "low": 0.5, "high": 1.5, "interval": "15s", "peak_chance": 0}
"""A rate that jumps every 15 seconds, and is never high for longer."""


def closing_surge(session_s: float) -> dict[str, Any]:
    """A rate that jumps every 15 seconds, and doubles in the last tenth of a session."""
    jumps = {"shape": "erratic", "low": 0.6, "high": 1.3, "interval": "15s", "peak_chance": 0}
    surge = {"shape": "step", "steps": [[0, 1], [0.9 * session_s, 2]], "repeat": session_s}
    return {"product": [jumps, surge]}


def orders(
    session_s: float, *, executors: int = 8, variation: Mapping[str, Any] | None = None, **fields: Any
) -> Scenario:
    """Two sessions of limit orders for 1,156 stocks. Each opens with a spike of 70 to 80 times the usual rate, which
    then varies, and surges before it closes; the hot stocks change every minute."""
    opening = {
        "shape": "opening_auction",
        "base": _ORDERS_PER_S,
        "factors": list(_SPIKES),
        "decay": _SPIKE_S,
        "session": session_s,
    }
    return keyed(
        "limit orders",
        {"product": [opening, variation or closing_surge(session_s)]},
        _ORDERS_RATE,
        duration_s=len(_SPIKES) * session_s,
        executors=executors,
        resolution_s=_SPIKE_S / 4,
        keys={"limit_orders": 1156},
        rotate_every="1m",
        rotate_by=7,
        **fields,
    )


def auctions(amplitude: float, wave_s: float, rate: float, *, duration_s: float, **fields: Any) -> Scenario:
    """A query over auctions on Flink, under a sinusoid of 30,000/s ± `amplitude`; `cluster` adds to its settings."""
    load = {"shape": "sine", "base": BASE, "amplitude": amplitude, "period": wave_s}
    executors = max(1, round(BASE / (0.75 * rate)))
    cluster = FLINK | {"move_delay": AUCTION_MOVE_S} | fields.pop("cluster", {})
    return keyed("auctions", load, rate, duration_s=duration_s, executors=executors, cluster=cluster, **fields)
