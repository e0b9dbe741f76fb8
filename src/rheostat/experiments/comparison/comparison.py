"""Comparison: runs all policies on the same scenarios and seeds, and puts their figures side by side."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from rheostat.errors import RheostatError
from rheostat.experiments.clairvoyant.schedule import TARGET
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.figures import Entry, entry_of
from rheostat.experiments.comparison.job_pool import JobFailure, run_jobs
from rheostat.experiments.comparison.job_store import JobStore
from rheostat.experiments.comparison.jobs import Job, PolicyJob, ReferenceJob, References
from rheostat.experiments.comparison.pareto import pareto_front
from rheostat.experiments.comparison.plants import plant_called
from rheostat.experiments.comparison.policy_choice import with_training
from rheostat.experiments.comparison.ranking import RankedPolicy, ranks, summary
from rheostat.experiments.comparison.references import LOWER_BOUND, Reference
from rheostat.experiments.comparison.scenario_choice import ChosenScenario, ScenarioChoice
from rheostat.experiments.comparison.tuning import Options, best_options, tuning_jobs
from rheostat.experiments.feasibility import why_it_cannot_be_met

DEFAULT, TUNED = "default", "tuned"

Progress = Callable[[int, int], None]
"""Called with the number of finished jobs and of all that are known so far."""


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """What to compare. Without `reference_runs` there are no references."""

    choice: ScenarioChoice
    policies: tuple[str, ...]
    plant: str
    seeds: tuple[int, ...]
    tuned: bool
    reference_runs: int
    processes: int
    out: Path


class ComparedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario: its entries, the best rank first, and the references by kind.

    `cannot_be_met` says why no policy can meet the SLA, `not_run` why a policy has no entry. `cost_of_reference` are
    the executor-seconds that ratios of cost are to, and `cost_reference` says whose they are.
    """

    name: str
    path: str
    duration_s: float
    sla: str
    latency_limit_s: float
    cannot_be_met: tuple[str, ...]
    not_run: dict[str, str]
    references: dict[str, Reference]
    cost_reference: str | None
    cost_of_reference: float | None
    entries: tuple[Entry, ...]


class FailedJob(msgspec.Struct, frozen=True):
    """A job that raised an error."""

    name: str
    why: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found. `reused` jobs were not run again, because their results were stored."""

    plant: str
    seeds: tuple[int, ...]
    ranking: dict[str, tuple[RankedPolicy, ...]]
    scenarios: tuple[ComparedScenario, ...]
    left_out: dict[str, str]
    failed: tuple[FailedJob, ...]
    jobs: int
    reused: int


def compare(request: ComparisonRequest, progress: Progress = lambda done, known: None) -> Comparison:
    """Run what is not stored yet, and compare. An interrupted comparison is resumed by calling it again."""
    with JobStore(request.out) as store, plant_called(request.plant).opened():
        work = _Work(request, store, progress)
        default = [_DefaultJobs(chosen, request) for chosen in request.choice.scenarios]
        work.do(job for each in default for job in each.jobs)
        tuned = [_TunedJobs(each, request, work) for each in default] if request.tuned else []
        work.do(job for each in tuned for job in each.jobs)
        groups = [[*each.groups, *(tuned[at].groups if tuned else [])] for at, each in enumerate(default)]
        found = [_compared(each, own, work) for each, own in zip(default, groups, strict=True)]
    settings = [DEFAULT, *([TUNED] if request.tuned else [])]
    return Comparison(
        plant=request.plant,
        seeds=request.seeds,
        ranking={setting: summary([each.entries for each in found], setting) for setting in settings},
        scenarios=tuple(found),
        left_out=request.choice.left_out,
        failed=tuple(work.failed),
        jobs=work.done,
        reused=work.reused,
    )


class _Work:
    """Runs jobs unless their results are stored."""

    def __init__(self, request: ComparisonRequest, store: JobStore, progress: Progress) -> None:
        self._store, self._progress = store, progress
        self._processes = request.processes if plant_called(request.plant).parallel else 1
        self.failed: list[FailedJob] = []
        self._known: set[str] = set()
        self.done = self.reused = 0

    def do(self, jobs: Iterable[Job]) -> None:
        """Each job once, however often it is asked for."""
        wanted = {job.key: job for job in jobs if job.key not in self._known}
        missing = [job for job in wanted.values() if job not in self._store]
        self._known |= wanted.keys()
        self.reused += len(wanted) - len(missing)
        self._count(len(wanted) - len(missing))
        for job, result in run_jobs(missing, self._processes):
            if isinstance(result, JobFailure):
                self.failed.append(FailedJob(job.name, result.why))
            else:
                self._store.add(job, result)
            self._count(1)

    def runs(self, jobs: Iterable[PolicyJob]) -> list[ComparedRun]:
        """The results of those that did not fail."""
        results = [self._store[job] for job in jobs if job in self._store]
        return [result for result in results if isinstance(result, ComparedRun)]

    def references(self, job: ReferenceJob | None) -> References:
        """Empty if the search failed, or was not asked for."""
        result = self._store[job] if job is not None and job in self._store else {}
        return result if isinstance(result, dict) else {}

    def _count(self, jobs: int) -> None:
        self.done += jobs
        self._progress(self.done, len(self._known))


@dataclass
class _Group:
    """The runs of one policy with one setting."""

    options: Options
    jobs: list[PolicyJob]


@dataclass
class _DefaultJobs:
    """All jobs of a scenario that depend on no other: references, default settings, and candidates for tuning."""

    chosen: ChosenScenario
    request: ComparisonRequest
    groups: list[_Group] = field(default_factory=list)
    candidates: list[list[tuple[Options, list[PolicyJob]]]] = field(default_factory=list)
    search: ReferenceJob | None = None
    not_run: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        request = self.request
        if request.reference_runs and plant_called(request.plant).references:
            self.search = ReferenceJob(chosen=self.chosen, seed=request.seeds[0], runs=request.reference_runs)
        for policy in request.policies:
            if (why := _why_not(self.chosen, policy, request.plant)) is not None:
                self.not_run[policy] = why
                continue
            self.groups.append(_group(self.chosen, request, policy, DEFAULT, {}))
            if request.tuned:
                self.candidates.append(tuning_jobs(self.chosen, policy))

    @property
    def jobs(self) -> list[Job]:
        """Those that take longest first, so that no process is left with them at the end."""
        tuning = [job for tried in self.candidates for _, jobs in tried for job in jobs]
        search: list[Job] = [] if self.search is None else [self.search]
        return [*search, *(job for group in self.groups for job in group.jobs), *tuning]


class _TunedJobs:
    """The runs of each policy with the best of its settings."""

    def __init__(self, default: _DefaultJobs, request: ComparisonRequest, work: _Work) -> None:
        self.groups = []
        for group, tried in zip(default.groups, default.candidates, strict=True):
            results = [(options, work.runs(jobs)) for options, jobs in tried]
            complete = [(options, runs) for options, runs in results if runs]
            options = best_options(complete) if complete else {}
            self.groups.append(_group(default.chosen, request, group.jobs[0].policy, TUNED, options))

    @property
    def jobs(self) -> list[Job]:
        return [job for group in self.groups for job in group.jobs]


def _group(
    chosen: ChosenScenario, request: ComparisonRequest, policy: str, setting: str, options: dict[str, Any]
) -> _Group:
    jobs = [
        PolicyJob(
            chosen=chosen,
            policy=policy,
            setting=setting,
            seed=seed,
            plant=request.plant,
            options=options,
            keeps_series=seed == request.seeds[0],
        )
        for seed in request.seeds
    ]
    return _Group(options, jobs)


def _why_not(chosen: ChosenScenario, policy: str, plant: str) -> str | None:
    """Why a policy cannot be used for a scenario at all."""
    try:
        plant_called(plant).check(chosen.scenario, policy, with_training(chosen.scenario, policy, {}))
    except RheostatError as error:
        return str(error)
    return None


def _compared(default: _DefaultJobs, groups: Sequence[_Group], work: _Work) -> ComparedScenario:
    scenario, references = default.chosen.scenario, work.references(default.search)
    results = [(group.options, runs) for group in groups if (runs := work.runs(group.jobs))]
    whose, cost = _cost_reference(references, [runs for _, runs in results])
    entries = _with_front([entry_of(runs, options, cost) for options, runs in results])
    slas = scenario.goal.slas
    return ComparedScenario(
        name=scenario.name,
        path=str(default.chosen.path),
        duration_s=scenario.duration_s,
        sla="; ".join(map(str, slas)),
        latency_limit_s=(scenario.goal.end_to_end or slas[0]).latency_s,
        cannot_be_met=(*why_it_cannot_be_met(scenario), *_no_schedule(references, entries)),
        not_run=default.not_run,
        references=references,
        cost_reference=whose,
        cost_of_reference=cost,
        entries=tuple(sorted(_with_ranks(entries), key=lambda each: (each.setting, each.rank or 0.0))),
    )


def _no_schedule(references: References, entries: Sequence[Entry]) -> tuple[str, ...]:
    """That nothing met the SLA, neither a reference nor a policy."""
    found = [reference.best for reference in references.values() if reference.kind != LOWER_BOUND]
    best = max((point.success_rate or 0.0 for point in found if point is not None), default=None)
    if best is None or best >= TARGET or any(entry.success >= TARGET for entry in entries):
        return ()
    return (
        f"nothing that was tried with the future known meets the SLA in more than {100 * best:.1f} % of the windows",
    )


def _cost_reference(references: References, groups: Sequence[Sequence[ComparedRun]]) -> tuple[str | None, float | None]:
    """The cheapest reference that meets the SLA: the best schedule, unless none was found that does or that is cheaper
    than the others. If no reference meets it, the cheapest policy that does."""
    met = [
        (best.executor_seconds, f"the {kind.replace('_', ' ')}")
        for kind, reference in references.items()
        if kind != LOWER_BOUND and (best := reference.best) is not None and best.is_met
    ]
    if not met:
        entries = [entry_of(runs, {}, None) for runs in groups]
        met = [(e.cost, f"{e.policy}, the cheapest that meets the SLA") for e in entries if e.success >= TARGET]
    cost, whose = min(met, default=(None, None))
    return whose, cost


def _with_front(entries: Sequence[Entry]) -> list[Entry]:
    front = set(pareto_front([(entry.cost, entry.success) for entry in entries]))
    return [msgspec.structs.replace(entry, on_front=place in front) for place, entry in enumerate(entries)]


def _with_ranks(entries: Sequence[Entry]) -> list[Entry]:
    found = []
    for setting in (DEFAULT, TUNED):
        own = [entry for entry in entries if entry.setting == setting]
        found += [msgspec.structs.replace(entry, rank=rank) for entry, rank in zip(own, ranks(own), strict=True)]
    return found
