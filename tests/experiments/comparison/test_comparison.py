"""Whole comparisons of quick scenarios."""

from pathlib import Path
from typing import Any

import pytest
from compared_runs import compared_run
from small_scenario import write_small

from rheostat.experiments.comparison import job_pool, jobs, plants, tuning
from rheostat.experiments.comparison.comparison import ComparisonRequest, compare
from rheostat.experiments.comparison.jobs import PolicyJob
from rheostat.experiments.comparison.references import Reference, ReferencePoint
from rheostat.experiments.comparison.scenario_choice import choose_scenarios
from rheostat.experiments.comparison.simulated_run import run_on_simulator
from rheostat.experiments.scenario import read_scenario


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").mkdir()
    return tmp_path / "scenarios"


def request_for(folder: Path, *policies: str, **changes: Any) -> ComparisonRequest:
    fields: dict[str, Any] = {
        "choice": choose_scenarios([folder]),
        "policies": policies or ("static", "threshold"),
        "plant": "sim",
        "seeds": (0, 1),
        "tuned": False,
        "reference_runs": 0,
        "processes": 1,
        "out": folder.parent / "out",
    }
    return ComparisonRequest(**(fields | changes))


def test_every_policy_sees_every_scenario_with_every_seed(folder: Path) -> None:
    write_small(folder, "one")
    write_small(folder, "two", peak=30)
    found = compare(request_for(folder))
    assert [scenario.name for scenario in found.scenarios] == ["one", "two"]
    for scenario in found.scenarios:
        assert {entry.policy for entry in scenario.entries} == {"static", "threshold"}
        assert all([run.seed for run in entry.runs] == [0, 1] for entry in scenario.entries)
        assert all(entry.runs[0].series and not entry.runs[1].series for entry in scenario.entries)
    assert {each.policy for each in found.ranking["default"]} == {"static", "threshold"}
    assert (found.jobs, found.reused) == (8, 0)


def test_a_run_has_the_figures_of_the_simulator(folder: Path) -> None:
    scenario = read_scenario(write_small(folder))
    run = run_on_simulator(scenario, "threshold", {}, setting="default", seed=3)
    assert (run.scenario, run.policy, run.plant, run.seed, run.duration_s) == ("small", "threshold", "sim", 3, 60)
    assert run.executor_seconds >= run.mean_executors * 60
    assert len(run.series) == 31
    assert run.scalings > 0


def test_results_are_the_same_in_any_number_of_processes(folder: Path) -> None:
    write_small(folder)
    here = compare(request_for(folder))
    there = compare(request_for(folder, processes=2, out=folder.parent / "other"))
    assert here.scenarios == there.scenarios


def point(kind: str, cost: float, success: float) -> Reference:
    return Reference(kind=kind, points=(ReferencePoint(cost, success),))


@pytest.mark.parametrize(
    ("schedule", "fixed", "policy", "whose", "cost"),
    [
        ((100, 0.99), (300, 1.0), (50, 0.7), "the best schedule", 100),
        ((100, 0.60), (300, 1.0), (50, 0.7), "the cheapest fixed", 300),
        ((100, 0.60), (300, 0.8), (500, 1.0), "drs, the cheapest that meets the SLA", 500),
        ((100, 0.60), (300, 0.8), (500, 0.9), None, None),
    ],
)
def test_costs_are_ratios_to_the_cheapest_that_is_known_to_meet_the_sla(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    schedule: tuple[float, float],
    fixed: tuple[float, float],
    policy: tuple[float, float],
    whose: str | None,
    cost: float | None,
) -> None:
    write_small(folder)
    found = {
        "best_schedule": point("best_schedule", *schedule),
        "cheapest_fixed": point("cheapest_fixed", *fixed),
        "present_knower": Reference(kind="present_knower", points=()),
        "lower_bound": Reference(kind="lower_bound", points=(ReferencePoint(20.0),)),
    }
    monkeypatch.setattr(jobs.ReferenceJob, "run", lambda job: found)
    monkeypatch.setattr(jobs.PolicyJob, "run", lambda job: compared_run("drs", policy[1], policy[0], seed=job.seed))
    (scenario,) = compare(request_for(folder, "drs", reference_runs=1)).scenarios
    assert (scenario.cost_reference, scenario.cost_of_reference) == (whose, cost)
    assert bool(scenario.cannot_be_met) == (whose is None)


def test_costs_are_ratios_to_the_best_schedule(folder: Path) -> None:
    write_small(folder)
    (scenario,) = compare(request_for(folder, reference_runs=6)).scenarios
    best = scenario.references["best_schedule"].best
    bound = scenario.references["lower_bound"].best
    assert best is not None
    assert bound is not None
    assert best.is_met
    assert bound.executor_seconds <= best.executor_seconds
    assert scenario.cost_of_reference == best.executor_seconds
    entry = scenario.entries[0]
    assert entry.figures["cost_ratio"].mean == pytest.approx(entry.cost / best.executor_seconds)


def test_without_references_costs_are_ratios_to_the_cheapest_that_meets_the_sla(folder: Path) -> None:
    write_small(folder, peak=20)
    (scenario,) = compare(request_for(folder, "static")).scenarios
    assert scenario.cost_reference == "static, the cheapest that meets the SLA"
    assert scenario.entries[0].figures["cost_ratio"].mean == 1.0


def test_a_scenario_that_cannot_be_met_says_so_and_the_others_are_compared(folder: Path) -> None:
    write_small(folder, "impossible", peak=400)
    write_small(folder, "possible", peak=20)
    impossible, possible = compare(request_for(folder, "static", reference_runs=4)).scenarios
    assert "the budget" in impossible.cannot_be_met[0]
    assert "nothing that was tried with the future known" in impossible.cannot_be_met[-1]
    assert impossible.cost_of_reference is None
    assert possible.cannot_be_met == ()
    assert possible.cost_of_reference is not None


def test_a_job_that_fails_is_reported_and_the_others_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small(folder)

    def fails(job: PolicyJob) -> object:
        if (job.policy, job.seed) == ("static", 1):
            raise ValueError("no such luck")
        return run(job)

    run = jobs.PolicyJob.run
    monkeypatch.setattr(jobs.PolicyJob, "run", fails)
    found = compare(request_for(folder))
    (failed,) = found.failed
    assert (failed.name, failed.why) == ("small: static (default), seed 1", "ValueError: no such luck")
    assert {entry.policy: len(entry.runs) for entry in found.scenarios[0].entries} == {"static": 1, "threshold": 2}
    monkeypatch.undo()
    again = compare(request_for(folder))
    assert (again.failed, again.jobs, again.reused) == ((), 4, 3)


def test_a_policy_that_cannot_be_used_is_reported_and_not_run(folder: Path) -> None:
    path = write_small(folder)
    path.write_text(path.read_text().replace("[[sla]]", '[[sla]]\npath = ["work"]').replace("[budget]\ntotal = 4", ""))
    found = compare(request_for(folder, "static", "drs"))
    assert "drs needs an SLA" in found.scenarios[0].not_run["drs"]
    assert found.failed == ()


def test_a_comparison_resumes_and_runs_again_only_what_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = write_small(folder, "first"), write_small(folder, "second")
    before = compare(request_for(folder))
    after = compare(request_for(folder))
    assert (after.jobs, after.reused) == (8, 8)
    assert after.scenarios == before.scenarios
    first.write_text(first.read_text().replace('duration = "1m"', 'duration = "50s"'))
    assert compare(request_for(folder)).reused == 4
    monkeypatch.setattr(jobs, "version", lambda _: "another")
    assert compare(request_for(folder)).reused == 0


def test_an_interrupted_comparison_keeps_what_is_done(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small(folder)

    def interrupted(done: int, known: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(request_for(folder), interrupted)
    assert compare(request_for(folder)).reused == 3


def test_progress_counts_all_jobs(folder: Path) -> None:
    write_small(folder)
    told: list[tuple[int, int]] = []
    compare(request_for(folder), lambda done, known: told.append((done, known)))
    assert told[-1] == (4, 4)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_the_best_setting_of_the_grid_is_found_on_other_seeds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small(folder, peak=110)
    monkeypatch.setattr(tuning, "GRIDS", {"static": [{"executors": 1}, {"executors": 3}, {"executors": 4}]})
    monkeypatch.setattr(tuning, "TUNING_SEEDS", (77,))
    found = compare(request_for(folder, tuned=True))
    tuned = {entry.policy: entry for entry in found.scenarios[0].entries if entry.setting == "tuned"}
    assert tuned["static"].options == {"executors": 3}
    assert tuned["threshold"].options == {}
    assert {run.seed for entry in tuned.values() for run in entry.runs} == {0, 1}
    assert (found.jobs, found.reused) == (2 * 2 + 4 + 2, 0)
    assert {(each.policy, each.setting) for each in found.ranking["tuned"]} == {
        ("static", "tuned"),
        ("threshold", "tuned"),
    }


def test_settings_are_tried_on_the_simulator_only_and_the_best_one_runs_on_the_plant(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_small(folder, peak=110)
    monkeypatch.setattr(tuning, "GRIDS", {"static": [{"executors": 1}, {"executors": 3}, {"executors": 4}]})
    ran: list[tuple[dict[str, Any], str]] = []

    def run(scenario: Any, policy: str, options: dict[str, Any], **settings: Any) -> Any:
        ran.append((options, settings["setting"]))
        return run_on_simulator(scenario, policy, options, **settings)

    fake = plants.ComparedPlant(run, parallel=False, references=False)
    monkeypatch.setitem(plants.PLANTS, "spark", fake)  # type: ignore[arg-type]
    compare(request_for(folder, "static", plant="spark", tuned=True, seeds=(0,)))
    assert ran == [({}, "default"), ({"executors": 3}, "tuned")]


def test_on_another_plant_jobs_run_here_one_by_one_without_references(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_small(folder, peak=20)
    fake = plants.ComparedPlant(run_on_simulator, parallel=False, references=False)
    monkeypatch.setitem(plants.PLANTS, "spark", fake)  # type: ignore[arg-type]
    monkeypatch.setattr(job_pool, "ProcessPoolExecutor", None)
    (scenario,) = compare(request_for(folder, plant="spark", processes=2, reference_runs=5)).scenarios
    assert scenario.references == {}
    assert scenario.cost_reference is not None
