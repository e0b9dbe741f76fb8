from pathlib import Path

import msgspec
import pytest
from compared_runs import compared_run
from small_scenario import write_small

from rheostat.errors import ConfigError
from rheostat.experiments.comparison.job_store import JobStore
from rheostat.experiments.comparison.jobs import PolicyJob, ReferenceJob
from rheostat.experiments.comparison.references import Reference, ReferencePoint
from rheostat.experiments.comparison.scenario_choice import ChosenScenario, choose_scenarios


@pytest.fixture
def chosen(tmp_path: Path) -> ChosenScenario:
    return choose_scenarios([write_small(tmp_path)]).scenarios[0]


def job_of(chosen: ChosenScenario, seed: int = 0, setting: str = "default") -> PolicyJob:
    return PolicyJob(chosen=chosen, policy="drs", setting=setting, seed=seed, plant="sim")


def test_results_are_found_again_by_their_keys(tmp_path: Path, chosen: ChosenScenario) -> None:
    job, reference = job_of(chosen), ReferenceJob(chosen=chosen, seed=0, runs=5)
    found = {"best_schedule": Reference(kind="best_schedule", points=(ReferencePoint(9.0, 1.0),))}
    with JobStore(tmp_path / "out") as store:
        store.add(job, compared_run())
        store.add(reference, found)
    with JobStore(tmp_path / "out") as store:
        assert store[job] == compared_run()
        assert store[reference] == found
        assert job_of(chosen, seed=1) not in store


def test_the_same_run_counts_for_another_setting_with_the_same_options(tmp_path: Path, chosen: ChosenScenario) -> None:
    with JobStore(tmp_path / "out") as store:
        store.add(job_of(chosen), compared_run())
        assert store[job_of(chosen, setting="tuned")] == msgspec.structs.replace(compared_run(), setting="tuned")


@pytest.mark.parametrize("left", range(1, 60, 7))
def test_a_last_line_that_was_cut_is_run_again_and_harms_no_other(
    tmp_path: Path, chosen: ChosenScenario, left: int
) -> None:
    first, second = job_of(chosen), job_of(chosen, seed=1)
    with JobStore(tmp_path / "out") as store:
        store.add(first, compared_run())
        end = store.path.stat().st_size
        store.add(second, compared_run(seed=1))
    store.path.write_bytes(store.path.read_bytes()[: end + left])
    with JobStore(tmp_path / "out") as store:
        assert first in store
        assert second not in store
        store.add(second, compared_run(seed=1))
    with JobStore(tmp_path / "out") as store:
        assert first in store
        assert second in store


def test_a_line_of_another_format_is_left_out(tmp_path: Path, chosen: ChosenScenario) -> None:
    (tmp_path / "runs.jsonl").write_text('{"key": "a", "run": {"scenario": 3}}\nrubbish\n')
    with JobStore(tmp_path) as store:
        assert job_of(chosen) not in store


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    with JobStore(tmp_path), pytest.raises(ConfigError, match="another comparison is writing to"):
        JobStore(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="it is a file, give a folder"):
        JobStore(tmp_path / "out")
