from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.errors import MissingTraceError
from rheostat.experiments.feasibility import why_it_cannot_be_met
from rheostat.experiments.scenario import Scenario, read_scenario
from rheostat.experiments.simulate import simulate

ROOT = Path(__file__).parents[2]
SUITE = sorted((ROOT / "scenarios" / "suite").glob("*.toml"))
RECORDED = ROOT.parent / "shared" / "traces"

CANNOT_BE_MET = {"batch-small-budget": "the budget is 16"}
"""By the name of the file: what the only reasons say."""


def read(path: Path) -> Scenario:
    try:
        return read_scenario(path, RECORDED)
    except MissingTraceError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("path", SUITE, ids=lambda path: path.stem)
def test_a_scenario_of_the_suite_can_be_met_or_says_why_not(path: Path) -> None:
    reasons = why_it_cannot_be_met(read(path))
    assert bool(reasons) == (path.stem in CANNOT_BE_MET)
    assert all(CANNOT_BE_MET[path.stem] in reasons[0] for _ in reasons)


@pytest.mark.parametrize("path", SUITE, ids=lambda path: path.stem)
def test_a_short_piece_of_a_scenario_runs(path: Path) -> None:
    scenario = read(path)
    assert 600 <= scenario.duration_s <= 1200
    result = simulate(replace(scenario, duration_s=60.0), "static")
    assert result.arrived > 0
    assert result.completed > 0


@pytest.mark.parametrize("path", SUITE, ids=lambda path: path.stem)
def test_a_scenario_says_what_it_is_for(path: Path) -> None:
    assert path.read_text().startswith("# ")


def test_the_suite_has_both_kinds_of_queues_and_recorded_traces() -> None:
    names = [path.stem for path in SUITE]
    assert len(names) >= 18
    assert {name.partition("-")[0] for name in names} == {"batch", "tuple"}
    assert sum("-trace-" in name for name in names) >= 4


@pytest.mark.parametrize("path", [path for path in SUITE if "-trace-" in path.stem], ids=lambda path: path.stem)
def test_a_trace_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(MissingTraceError, match=r"\.csv cannot be read: No such file.*--traces DIR"):
        read_scenario(path)
