"""Service wait: emulates the work of an operator by waiting as long as a record's service takes.

More executors than cores can then do more work. Times are drawn from the seed and the number of the record: they do not
depend on the executor, and a record that is repeated takes as long as before.
"""

import itertools
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.load import Shape
from rheostat.sim.model import Service

_starts_s: dict[Path, float] = {}


@dataclass(frozen=True)
class ServiceWait:
    """The work of `operator`; each record makes `selectivity` others on average.

    `cost` is how many times as long as usual records take, by the time since the load started: `start_file` has that
    moment as soon as it is known. `weights` are cumulative, of the values of the records that are made; without them
    they keep the value of their origin.
    """

    operator: str
    service: Service
    seed: int
    selectivity: float = 1.0
    weights: tuple[float, ...] = ()
    cost: Shape | None = None
    start_file: Path | None = None

    def serve(self, record: int, value: int) -> None:
        """Wait as long as the service of a record takes."""
        time.sleep(self.service_s(record, value) * self._cost_now())

    def service_s(self, record: int, value: int) -> float:
        """The service time of a record at the usual cost."""
        service, drawn = self.service, random.Random(f"{self.seed} {self.operator} {record} service")
        factor = service.cost_by_value[value] if service.cost_by_value else 1.0
        return factor * _drawn_s(service, drawn)

    def made_of(self, record: int, value: int) -> Iterator[dict[str, Any]]:
        """The records that one record makes."""
        drawn = random.Random(f"{self.seed} {self.operator} {record} {value} output")
        whole = math.floor(self.selectivity)
        for _ in range(whole + (drawn.random() < self.selectivity - whole)):
            made = drawn.choices(range(len(self.weights)), cum_weights=self.weights)[0] if self.weights else value
            yield {"id": record, "value": made}

    def __call__(self, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self.serve(record["id"], record["value"])
        return self.made_of(record["id"], record["value"])

    def _cost_now(self) -> float:
        if self.cost is None:
            return 1.0
        return self.cost.rate_at(max(0.0, time.time() - self._start_s()))

    def _start_s(self) -> float:
        """When the load started; now, as long as it has not."""
        assert self.start_file is not None
        if self.start_file not in _starts_s:
            try:
                _starts_s[self.start_file] = float(self.start_file.read_text(encoding="utf-8"))
            except FileNotFoundError:
                return time.time()
        return _starts_s[self.start_file]


def cumulative(weights: Any) -> tuple[float, ...]:
    """Weights as `ServiceWait` takes them."""
    return tuple(itertools.accumulate(float(weight) for weight in weights))


def _drawn_s(service: Service, drawn: random.Random) -> float:
    mean_s = service.mean_s
    match service.distribution:
        case "exponential":
            return drawn.expovariate(1 / mean_s)
        case "lognormal":
            variance = math.log1p(service.scv)
            return drawn.lognormvariate(math.log(mean_s) - variance / 2, math.sqrt(variance))
        case "uniform":
            return mean_s * (1 + service.spread * (2 * drawn.random() - 1))
    return mean_s
