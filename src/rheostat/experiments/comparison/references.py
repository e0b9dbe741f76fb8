"""References: what is possible in a scenario with knowledge that no policy has, as points of cost and success.

`best_schedule` (the future is known), `cheapest_fixed` (the best size that never changes), `present_knower` (the exact
present load is known, for several headrooms), and `lower_bound`, which nothing that meets the SLA stays below.
"""

import msgspec

from rheostat.experiments.clairvoyant.best_schedule import best_schedule
from rheostat.experiments.clairvoyant.fixed_sizes import cheapest_fixed
from rheostat.experiments.clairvoyant.lower_bound import lower_bound
from rheostat.experiments.clairvoyant.present_knower import causal_frontier
from rheostat.experiments.clairvoyant.schedule import TARGET, Schedule
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.simulated_run import run_on_simulator
from rheostat.experiments.scenario import Scenario

BEST_SCHEDULE, CHEAPEST_FIXED, PRESENT_KNOWER, LOWER_BOUND = (
    "best_schedule",
    "cheapest_fixed",
    "present_knower",
    "lower_bound",
)
REFERENCE_RUNS = 24
"""Simulated runs to find the best schedule of one scenario."""


class ReferencePoint(msgspec.Struct, frozen=True):
    """What something paid, and in what share of windows it met the SLA; None where it did not run."""

    executor_seconds: float
    success_rate: float | None = None
    note: str = ""

    @property
    def is_met(self) -> bool:
        return self.success_rate is None or self.success_rate >= TARGET


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of knowledge: no point if nothing is possible with it, several where there is a choice.

    `run` has the figures of the only point, if they are kept.
    """

    kind: str
    points: tuple[ReferencePoint, ...]
    run: ComparedRun | None = None

    @property
    def best(self) -> ReferencePoint | None:
        """The cheapest point that meets the SLA, or that with the highest success if none does."""
        if met := [point for point in self.points if point.is_met]:
            return min(met, key=lambda point: point.executor_seconds)
        return max(self.points, key=lambda point: point.success_rate or 0.0, default=None)


def find_references(scenario: Scenario, seed: int, runs: int) -> dict[str, Reference]:
    """All of them by kind, found by simulation with `seed`; `runs` limits the search for the best schedule."""
    fixed, frontier = cheapest_fixed(scenario, (seed,)), causal_frontier(scenario, seed)
    found = best_schedule(scenario, seed, runs=runs, fixed=fixed, frontier=frontier)
    bound_s = lower_bound(scenario).executor_seconds
    tried = f"of {found.runs} schedules tried"
    sizes = ", ".join(f"{name} {size}" for name, size in fixed.sizes.items())
    references = [
        Reference(
            kind=BEST_SCHEDULE,
            points=(ReferencePoint(found.executor_seconds, found.success_rate, tried),),
            run=run_on_simulator(scenario, Schedule, found.options, setting="reference", seed=seed),
        ),
        Reference(kind=CHEAPEST_FIXED, points=(ReferencePoint(fixed.executor_seconds, fixed.success_rate, sizes),)),
        Reference(
            kind=PRESENT_KNOWER,
            points=tuple(
                ReferencePoint(each.executor_seconds, each.success_rate, f"headroom {each.headroom:g}")
                for each in frontier
            ),
        ),
        Reference(kind=LOWER_BOUND, points=() if bound_s is None else (ReferencePoint(bound_s),)),
    ]
    return {reference.kind: reference for reference in references}
