"""Applications of the PA-SPS paper: chains of four operators, and a wider topology of eight with two branches."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rheostat.experiments.reproduce.pasps.loads import INPUTS, load_of
from rheostat.experiments.reproduce.reproduction import Effort
from rheostat.experiments.reproduce.sweep import scenario_of
from rheostat.experiments.scenario import Scenario

DURATION_S, QUICK_S = 2000, 600
Q_SIZE = 100_000
T_OUT = "30s"
TD_S = 30


@dataclass(frozen=True)
class PaspsApplication:
    """An application; `replicas` of an operator that receives the whole input can process its peak."""

    name: str
    load: str
    replicas: int
    service_s: float
    operators: tuple[dict[str, Any], ...]

    @property
    def r_over(self) -> int:
        """The replicas that the paper calls over-provisioned."""
        return self.replicas * len(self.operators)

    def scenario(self, effort: Effort, executors: int = 1, restart: str | None = None) -> Scenario:
        """Each operator starts with `executors` active replicas; the others of the pool are warm. With `restart` every
        change stops the topology for that long and loses the backlog of the operators that change."""
        duration_s = int(effort.choose(DURATION_S, QUICK_S))
        rates = INPUTS[self.load].rates(duration_s, effort)
        names = [operator["name"] for operator in self.operators]
        return scenario_of(
            name=self.name,
            duration=len(rates),
            source=[{"name": "input", "load": load_of(rates, self.replicas / self.service_s)}],
            operator=[self._operator(operator, executors) for operator in self.operators],
            budget={"total": self.r_over, "most": dict.fromkeys(names, self.replicas)},
            cluster={"timeout": T_OUT, "restart": restart, "restart_loses": restart is not None},
        )

    def _operator(self, operator: dict[str, Any], executors: int) -> dict[str, Any]:
        service = {"mean": self.service_s, "distribution": "exponential"}
        queues = {"queues": "own", "grouping": "load-aware", "interval": f"{TD_S}s", "capacity": Q_SIZE}
        return {**operator, "service": service, "executors": executors, "standby": self.replicas, **queues}


def _line(*names: str) -> tuple[dict[str, Any], ...]:
    return tuple({"name": name, "inputs": [before]} for before, name in pairwise(("input", *names)))


TWITTER = PaspsApplication("Twitter", "twitter", 8, 0.035, _line("parse", "classify", "author", "store"))
RAW_TWITTER = PaspsApplication("Twitter, raw", "raw twitter", 8, 0.035, _line("parse", "classify", "author", "store"))
DNS = PaspsApplication("DNS", "dns", 3, 0.035, _line("parse", "resolve", "classify", "store"))
LOGS = PaspsApplication("logs", "logs", 8, 0.035, _line("parse", "level", "detect", "store"))
WIDE = PaspsApplication(
    "Twitter, wide",
    "twitter",
    5,
    0.005,
    (
        {"name": "parse", "inputs": ["input"]},
        {"name": "classify", "inputs": ["parse"], "outputs": {"news": 0.5, "opinions": 0.5}, "split": "one"},
        {"name": "topics", "inputs": ["classify.news"]},
        {"name": "sources", "inputs": ["topics"]},
        {"name": "sentiment", "inputs": ["classify.opinions"]},
        {"name": "authors", "inputs": ["sentiment"]},
        {"name": "join", "inputs": ["sources", "authors"]},
        {"name": "store", "inputs": ["join"]},
    ),
)
