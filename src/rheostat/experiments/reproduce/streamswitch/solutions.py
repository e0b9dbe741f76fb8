"""Solutions: StreamSwitch, DRS, DRS-LB and fixed numbers of executors, compared in figures 5 and 17."""

from dataclasses import dataclass
from typing import Any

from rheostat.experiments.reproduce.streamswitch.workloads import SLOT_S, SWITCH, orders
from rheostat.experiments.reproduce.sweep import Case

SESSION_S = 600.0
"""Length of a trading session; two hours in the paper."""

_STATIC_PERIOD_S = 10.0
_DRS: dict[str, Any] = SWITCH | {
    "problem": "t_max",
    "model": "mmk",
    "reallocation_cost": 0,
    "keep": 0,
    "surge": False,
    "substreams": "switched",
}


@dataclass(frozen=True)
class Solution:
    """A solution with its parameter: ε of the adaptive ones, the number of executors of a static one."""

    kind: str
    parameter: float

    def __str__(self) -> str:
        return f"{self.kind}({self.parameter:g})"

    def case(self, session_s: float, bound_s: float = 1.0, window_s: float = 1.0, **fields: Any) -> Case:
        """The solution on orders, of which `fields` changes something."""
        fields |= {"bound_s": bound_s, "window_s": window_s}
        if self.kind == "Static":
            static = orders(session_s, executors=int(self.parameter), period_s=_STATIC_PERIOD_S, **fields)
            return Case(static, "static")
        scenario = orders(session_s, **fields)
        if self.kind == "Switch":
            return Case(scenario, "streamswitch", SWITCH | {"epsilon": self.parameter})
        smoothing = f"window:{round(window_s / SLOT_S)}"
        options = _DRS | {
            "t_max": bound_s,
            "L": bound_s,
            "T": window_s,
            "margin": self.parameter,
            "smoothing": smoothing,
        }
        return Case(scenario, "drs-lb", options | {"balance": self.kind == "DRS-LB"})
