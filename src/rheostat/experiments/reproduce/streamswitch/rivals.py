"""StreamSwitch and those it is compared with in figures 5 and 17: DRS, DRS-LB and fixed numbers of executors."""

from dataclasses import dataclass
from typing import Any

from rheostat.experiments.reproduce.streamswitch.workloads import SLOT_S, SWITCH, orders
from rheostat.experiments.reproduce.sweep import Case

_STATIC_PERIOD_S = 10.0
_DRS: dict[str, Any] = SWITCH | {
    "problem": "t_max",
    "model": "mmk",
    "reallocation_cost": 0,
    "surge": False,
    "substreams": "switched",
}


@dataclass(frozen=True)
class Rival:
    """A solution with its knob: ε of those that adapt, the number of executors of a static one."""

    kind: str
    knob: float

    def __str__(self) -> str:
        return f"{self.kind}({self.knob:g})"

    def case(self, session_s: float, bound_s: float = 1.0, window_s: float = 1.0) -> Case:
        sla: dict[str, Any] = {"bound_s": bound_s, "window_s": window_s}
        if self.kind == "Static":
            return Case(orders(session_s, executors=int(self.knob), period_s=_STATIC_PERIOD_S, **sla), "static")
        scenario = orders(session_s, **sla)
        if self.kind == "Switch":
            return Case(scenario, "streamswitch", SWITCH | {"epsilon": self.knob})
        smoothing = f"window:{round(window_s / SLOT_S)}"
        options = _DRS | {"t_max": bound_s, "L": bound_s, "T": window_s, "margin": self.knob, "smoothing": smoothing}
        return Case(scenario, "drs-lb", options | {"balance": self.kind == "DRS-LB"})
