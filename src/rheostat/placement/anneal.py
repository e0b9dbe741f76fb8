"""Simulated annealing of a partition (Ra-Stream, Algorithm 1): from a scheme in which all fits to a better one."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np

from rheostat.errors import ConfigError
from rheostat.placement import kernel
from rheostat.placement.compiled import compiled_sweep, worth_compiling
from rheostat.placement.objective import EPSILON, internal_traffic, quality
from rheostat.placement.problem import Problem

_HOT, _COOLING = 0.6, 0.92
"""T_0 and ζ for a scheme that is good already."""


class Annealing(msgspec.Struct, frozen=True):
    """How long and how hot. A temperature of 1 is what one pair of mean traffic contributes to f.

    `hot` and `cold` are T_0 and T_f, `cooling` is ζ. `proposals` for each temperature and task are max_iter. The
    paper gives ζ only. A share `guided` of the proposals follows the traffic, the others go anywhere.
    """

    hot: float = 2.0
    cold: float = 0.02
    cooling: float = 0.99
    proposals: float = 5.0
    guided: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.cold <= self.hot:
            raise ConfigError(f"temperatures must fall: 0 < cold {self.cold!r} <= hot {self.hot!r}")
        if not 0 < self.cooling < 1:
            raise ConfigError(f"cooling {self.cooling!r} must be between 0 and 1, e.g. 0.99")
        if not self.proposals > 0:
            raise ConfigError(f"proposals {self.proposals!r} must be > 0")
        if not 0 <= self.guided < 1:
            raise ConfigError(f"guided {self.guided!r} must be at least 0 and below 1")

    def temperatures(self) -> Iterator[float]:
        """From hot to cold, by the factor of cooling each."""
        steps = math.ceil(math.log(self.cold / self.hot) / math.log(self.cooling)) + 1
        return (self.hot * self.cooling**step for step in range(steps))


def never() -> bool:
    """No budget of time: the number of proposals alone says how long it takes."""
    return False


class Search(msgspec.Struct, frozen=True):
    """What the search for a scheme goes by. The same seed gives the same scheme, unless time runs out.

    `out_of_time` is asked between two temperatures; whoever wants a budget of time looks at a clock there.
    """

    epsilon: float = EPSILON
    annealing: Annealing = Annealing()
    seed: int = 0
    out_of_time: Callable[[], bool] = never

    def gentle(self, turn: int = 0) -> "Search":
        """For a scheme that is good already: less hot, sooner cold, and with other numbers in every turn."""
        annealing = msgspec.structs.replace(self.annealing, hot=max(_HOT, self.annealing.cold), cooling=_COOLING)
        return msgspec.structs.replace(self, annealing=annealing, seed=self.seed + turn + 1)


def anneal(problem: Problem, scheme: np.ndarray, search: Search, floor: np.ndarray | None = None) -> np.ndarray:
    """The best scheme seen, at least as good as `scheme`, in which everything must fit.

    `floor` says by node how small its R may become: nothing below is accepted.
    """
    if len(problem.nodes) == 1 or problem.graph.total == 0:
        return scheme
    run = _Run(problem, search, floor)
    best, least = scheme, quality(problem.graph, scheme, len(problem.nodes)).objective(search.epsilon)
    where = scheme
    for temperature in search.annealing.temperatures():
        if search.out_of_time():
            break
        where, better, least = run.sweep(where, temperature, least)
        best = best if better is None else better
    return best


class _Run:
    """One annealing: what stays the same from temperature to temperature."""

    def __init__(self, problem: Problem, search: Search, floor: np.ndarray | None) -> None:
        graph, annealing = problem.graph, search.annealing
        self._problem = problem
        self._rng = np.random.default_rng(search.seed)
        self._count = max(1, round(annealing.proposals * len(graph)))
        self._unit = (graph.rates.mean() if len(graph.rates) else 0.0) / graph.total
        work = self._count * sum(1 for _ in annealing.temperatures()) * (1 + 2 * len(graph.rates) / len(graph))
        self._compiled = worth_compiling(work)
        self._sweep: Callable[..., Any] = compiled_sweep() if self._compiled else kernel.sweep
        self._tasks = kernel.Tasks(
            *map(self._column, (*graph.adjacency, graph.own, *graph.demands.T, graph.sizes)),
        )
        empty = np.zeros(len(problem.nodes))
        self._room = kernel.Room(
            *map(self._column, (*problem.shares_per_unit.T, problem.slots, empty if floor is None else floor))
        )
        limits = problem.limits
        weights = limits.weights
        self._rules = kernel.Rules(
            search.epsilon, graph.total, weights.cpu, weights.memory, weights.io, limits.over, annealing.guided
        )

    def sweep(self, where: np.ndarray, temperature: float, least: float) -> tuple[np.ndarray, np.ndarray | None, float]:
        """Where it stands after one temperature, the best scheme met (None if it is not below `least`), and its f."""
        scheme, trail = self._scheme(where), self._column(np.zeros(4 * self._count, dtype=np.int64))
        least, steps, best_step = self._sweep(
            self._tasks, self._room, self._rules, scheme, self._draws(), temperature * self._unit, least, trail
        )
        after = np.array(scheme.where)
        if best_step < 0:
            return after, None, least
        best = after.copy()
        tasks, nodes = np.array(trail[2 * best_step : 2 * steps], dtype=np.int64).reshape(-1, 2)[::-1].T
        best[tasks] = nodes
        return after, best, least

    def _scheme(self, where: np.ndarray) -> kernel.Scheme:
        """The sums anew from the scheme, so that rounding does not add up over the temperatures."""
        graph, nodes = self._problem.graph, len(self._problem.nodes)
        sums = [np.bincount(where, weights=each, minlength=nodes) for each in graph.demands.T]
        count = np.bincount(where, weights=graph.sizes, minlength=nodes).astype(np.int64)
        order = np.argsort(where, kind="stable")
        first = np.searchsorted(where[order], np.arange(nodes + 1))
        inside = internal_traffic(graph, where, nodes)
        return kernel.Scheme(*map(self._column, (where, inside, *sums, count, order, first)))

    def _draws(self) -> kernel.Draws:
        rng, count = self._rng, self._count
        columns = (
            rng.integers(len(self._problem.graph), size=count),
            rng.random(count),
            rng.random(count),
            rng.standard_exponential(count),
        )
        return kernel.Draws(*map(self._column, columns))

    def _column(self, column: np.ndarray) -> Any:
        """As compiled code or as plain Python steps through it fastest; a copy, because schemes are written to."""
        return np.array(column, order="C") if self._compiled else column.tolist()
