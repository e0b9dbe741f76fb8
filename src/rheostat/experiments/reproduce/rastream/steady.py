"""An application at a constant rate under each scheduler, once its tasks are placed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rheostat.experiments.replicate import Mean, mean_of
from rheostat.experiments.reproduce.course import Course, follow
from rheostat.experiments.reproduce.rastream.applications import Application
from rheostat.experiments.reproduce.rastream.strategies import FRAME_S, STRATEGIES, case
from rheostat.experiments.reproduce.rastream.usage import nodes_used
from rheostat.experiments.reproduce.reproduction import Effort, Progress

SETTLED_S = 2 * FRAME_S + 15
"""The first plan is made at the end of the first frame, one that mends it at the end of the second."""
_MEASURED_S, _QUICKLY_S = 120.0, 15.0


@dataclass(frozen=True)
class Steady:
    """The runs of one scheduler at one rate."""

    rate: float
    strategy: str
    courses: tuple[Course, ...]

    @cached_property
    def latency_ms(self) -> Mean:
        """Mean latency once settled, over the runs."""
        return mean_of([_mean_ms(course) for course in self.courses])

    @cached_property
    def nodes(self) -> float:
        """Nodes in use at the end, on average over the runs."""
        return sum(nodes_used(course.periods[-1]) for course in self.courses) / len(self.courses)


def steady_runs(
    app: Application, rates: Sequence[float], effort: Effort, progress: Progress
) -> dict[tuple[str, float], Steady]:
    """Every scheduler at every rate."""
    wanted = [(strategy, rate) for rate in rates for strategy in STRATEGIES]
    duration_s = SETTLED_S + effort.choose(_MEASURED_S, _QUICKLY_S)
    found = {}
    for done, (strategy, rate) in enumerate(wanted, start=1):
        wanted_case = case(app.scenario(rate, duration_s), strategy)
        courses = tuple(follow(wanted_case, seed)[1] for seed in range(effort.seeds))
        found[strategy, rate] = Steady(rate, strategy, courses)
        progress(done / len(wanted))
    return found


def _mean_ms(course: Course) -> float:
    seen = [
        period.snapshot.latency
        for period in course.periods
        if period.time_s > SETTLED_S and period.snapshot is not None and period.snapshot.latency is not None
    ]
    return 1e3 * sum(each.count * each.mean_s for each in seen) / sum(each.count for each in seen)
