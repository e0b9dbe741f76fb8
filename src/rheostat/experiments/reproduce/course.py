"""A run over time: everything the loop saw and did, turn by turn."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.result import Result
from rheostat.experiments.simulate import simulate
from rheostat.loop.turn import Ruling, Turn
from rheostat.plan import Plan
from rheostat.snapshot import Latency

Sizes = tuple[int, ...]
"""Executors of each pool, in the order of the topology."""


@dataclass
class Course:
    """Listens to a loop and keeps its periods."""

    periods: list[Turn] = field(default_factory=list)

    def __call__(self, period: Turn) -> None:
        self.periods.append(period)

    def times_s(self) -> list[float]:
        return [period.time_s for period in self.periods]

    def latencies_s(self) -> list[float]:
        """Mean latency of what was completed in each period; not a number where nothing was."""
        return [latency.mean_s if (latency := _latency(period)) else float("nan") for period in self.periods]

    def sizes(self) -> list[Sizes]:
        """What is wanted from each period on."""
        return [sizes(period.plan) for period in self.periods]

    def acts(self) -> Iterator[tuple[float, Sizes]]:
        """When sizes changed, and what they became."""
        for period in self.periods:
            if period.ruled(Ruling.ACCEPTED) and sizes(period.plan) != sizes(period.before):
                yield period.time_s, sizes(period.plan)

    def sojourn(self) -> tuple[float, float]:
        """Mean and standard deviation of all latencies."""
        known = [latency for period in self.periods if (latency := _latency(period))]
        count = sum(each.count for each in known)
        mean_s = sum(each.count * each.mean_s for each in known) / count
        squares = sum(each.count * each.mean_s**2 * (1 + (each.scv or 0.0)) for each in known) / count
        return mean_s, max(0.0, squares - mean_s**2) ** 0.5


def follow(case: Case, seed: int) -> tuple[Result, Course]:
    """Run `case`, and keep its course."""
    course = Course()
    return simulate(case.scenario, case.policy, case.options, seed=seed, listeners=[course]), course


def sizes(plan: Plan) -> Sizes:
    return tuple(len(pool.executors) for pool in plan.pools.values())


def _latency(period: Turn) -> Latency | None:
    return None if period.snapshot is None else period.snapshot.latency
