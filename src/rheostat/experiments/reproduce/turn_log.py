"""Turn log: all turns of one simulated run, and the curves and figures computed from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.result import Result
from rheostat.experiments.simulate import Watcher, simulate
from rheostat.loop.turn import Ruling, Turn
from rheostat.plan import Plan
from rheostat.snapshot import Latency

Sizes = tuple[int, ...]
"""Executors of each pool, in the order of the topology."""


@dataclass
class TurnLog:
    """Listens to a loop and keeps its turns."""

    turns: list[Turn] = field(default_factory=list)

    def __call__(self, turn: Turn) -> None:
        self.turns.append(turn)

    def times_s(self) -> list[float]:
        return [turn.time_s for turn in self.turns]

    def latencies_s(self) -> list[float]:
        """Mean latency of the records completed in each turn; NaN for a turn without any."""
        return [latency.mean_s if (latency := _latency(turn)) else float("nan") for turn in self.turns]

    def sizes(self) -> list[Sizes]:
        """The pool sizes that each turn plans."""
        return [sizes(turn.plan) for turn in self.turns]

    def actions(self) -> Iterator[tuple[float, Sizes]]:
        """The times at which pool sizes changed, with the new sizes."""
        for turn in self.turns:
            if turn.ruled(Ruling.ACCEPTED) and sizes(turn.plan) != sizes(turn.before):
                yield turn.time_s, sizes(turn.plan)

    def sojourn(self) -> tuple[float, float]:
        """Mean and standard deviation of all latencies."""
        known = [latency for turn in self.turns if (latency := _latency(turn))]
        count = sum(each.count for each in known)
        mean_s = sum(each.count * each.mean_s for each in known) / count
        squares = sum(each.count * each.mean_s**2 * (1 + (each.scv or 0.0)) for each in known) / count
        return mean_s, max(0.0, squares - mean_s**2) ** 0.5


def simulate_with_log(case: Case, seed: int, *, watchers: Sequence[Watcher] = ()) -> tuple[Result, TurnLog]:
    """Simulate `case` and keep all its turns."""
    log = TurnLog()
    result = simulate(case.scenario, case.policy, case.options, seed=seed, listeners=[log], watchers=watchers)
    return result, log


def sizes(plan: Plan) -> Sizes:
    return tuple(len(pool.executors) for pool in plan.pools.values())


def _latency(turn: Turn) -> Latency | None:
    return None if turn.snapshot is None else turn.snapshot.latency
