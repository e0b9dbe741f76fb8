"""Simulated annealing of a partition (Ra-Stream, Algorithm 1): from a feasible scheme to a better one."""

import importlib.util
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec
import numpy as np

from rheostat.errors import ConfigError
from rheostat.placement.model.objective import EPSILON, internal_traffic, quality
from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.solvers import annealing_kernel

_HOT, _COOLING = 0.6, 0.92
"""T_0 and ζ for a scheme that is good already."""
_WORTH_COMPILING = 3e5
"""Proposals times neighbours from which compiled code, loaded or made, is faster than plain Python."""


class Annealing(msgspec.Struct, frozen=True):
    """The schedule of temperatures. A temperature of 1 is what one pair of mean traffic contributes to f.

    `hot` and `cold` are T_0 and T_f, `cooling` is ζ. `proposals` per temperature and task are max_iter. The paper gives
    ζ only. A share `guided` of the proposals follows the traffic, the others are uniform.
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
        """From hot to cold, each `cooling` times the one before."""
        steps = math.ceil(math.log(self.cold / self.hot) / math.log(self.cooling)) + 1
        return (self.hot * self.cooling**step for step in range(steps))


def never() -> bool:
    """No time budget: only the number of proposals limits the search."""
    return False


class Search(msgspec.Struct, frozen=True):
    """Options of the search for a scheme. The same seed gives the same scheme, unless time runs out.

    `out_of_time` is called between two temperatures; for a time budget, let it check a clock.
    """

    epsilon: float = EPSILON
    annealing: Annealing = Annealing()
    seed: int = 0
    out_of_time: Callable[[], bool] = never

    def gentle(self, cycle: int = 0) -> "Search":
        """For a scheme that is good already: less hot, faster cooling, and other random numbers in each cycle."""
        annealing = msgspec.structs.replace(self.annealing, hot=max(_HOT, self.annealing.cold), cooling=_COOLING)
        return msgspec.structs.replace(self, annealing=annealing, seed=self.seed + cycle + 1)


def anneal(
    problem: PlacementProblem, scheme: np.ndarray, search: Search, floor: np.ndarray | None = None
) -> np.ndarray:
    """The best scheme seen, at least as good as the feasible `scheme`; `floor` is the least R of each node."""
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
    """One annealing run: what stays the same from temperature to temperature."""

    def __init__(self, problem: PlacementProblem, search: Search, floor: np.ndarray | None) -> None:
        graph, annealing = problem.graph, search.annealing
        self._problem = problem
        self._rng = np.random.default_rng(search.seed)
        self._count = max(1, round(annealing.proposals * len(graph)))
        self._unit = (graph.rates.mean() if len(graph.rates) else 0.0) / graph.total
        work = self._count * sum(1 for _ in annealing.temperatures()) * (1 + 2 * len(graph.rates) / len(graph))
        self._compiled = _worth_compiling(work)
        self._sweep: Callable[..., Any] = _compiled_sweep() if self._compiled else annealing_kernel.sweep
        self._tasks = annealing_kernel.Tasks(
            *map(self._column, (*graph.adjacency, graph.own, *graph.demands.T, graph.sizes)),
        )
        empty = np.zeros(len(problem.nodes))
        self._room = annealing_kernel.NodeCapacities(
            *map(self._column, (*problem.shares_per_unit.T, problem.slots, empty if floor is None else floor))
        )
        limits = problem.limits
        weights = limits.weights
        self._rules = annealing_kernel.Rules(
            search.epsilon, graph.total, weights.cpu, weights.memory, weights.io, limits.over, annealing.guided
        )

    def sweep(self, where: np.ndarray, temperature: float, least: float) -> tuple[np.ndarray, np.ndarray | None, float]:
        """The scheme after one temperature, the best one seen (None if not below `least`), and the least f."""
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

    def _scheme(self, where: np.ndarray) -> annealing_kernel.Scheme:
        """The sums recomputed from the scheme, so that rounding errors do not add up over the temperatures."""
        graph, nodes = self._problem.graph, len(self._problem.nodes)
        sums = [np.bincount(where, weights=each, minlength=nodes) for each in graph.demands.T]
        count = np.bincount(where, weights=graph.sizes, minlength=nodes).astype(np.int64)
        order = np.argsort(where, kind="stable")
        first = np.searchsorted(where[order], np.arange(nodes + 1))
        inside = internal_traffic(graph, where, nodes)
        return annealing_kernel.Scheme(*map(self._column, (where, inside, *sums, count, order, first)))

    def _draws(self) -> annealing_kernel.Draws:
        rng, count = self._rng, self._count
        columns = (
            rng.integers(len(self._problem.graph), size=count),
            rng.random(count),
            rng.random(count),
            rng.standard_exponential(count),
        )
        return annealing_kernel.Draws(*map(self._column, columns))

    def _column(self, column: np.ndarray) -> Any:
        """A copy, as an array for compiled code or a list for plain Python, whichever is fastest there."""
        return np.array(column, order="C") if self._compiled else column.tolist()


def _worth_compiling(work: float) -> bool:
    return work >= _WORTH_COMPILING and importlib.util.find_spec("numba") is not None


@cache
def _compiled_sweep() -> Callable[..., Any]:
    """`annealing_kernel.sweep` as machine code, which later processes reuse."""
    import numba
    from numba.extending import register_jitable

    for helper in annealing_kernel.HELPERS:
        register_jitable(helper)
    return numba.njit(cache=True, error_model="numpy")(annealing_kernel.sweep)  # type: ignore[no-any-return]
