"""What the documentation says is tried here: its samples run, and it leaves out nothing that there is."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rheostat.cli import app, main
from rheostat.experiments import scenario
from rheostat.forecast import MODELS as FORECASTS
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.placement import graphfile
from rheostat.placement.algorithms import ALGORITHMS
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy, policies
from rheostat.queueing import planfile
from rheostat.sim import model
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Snapshot

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.rglob("*.md"))]
SCENARIO_TABLES = (
    scenario.ScenarioFile, scenario.SourceTable, scenario.OperatorTable, scenario.SlaTable, scenario.BudgetTable,
    scenario.PolicyTable, model.Service, model.Batches, model.Osg, model.Bursts, model.Failure, model.NodeModel,
    model.ClusterModel,
)  # fmt: skip


def samples(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def names(page: Path) -> set[str]:
    """Every word that stands in code there."""
    codes = re.findall(r"`([^`\n]+)`", page.read_text())
    return {word for code in codes for word in re.findall(r"[\w-]+", code)}


def fields(*tables: type[msgspec.Struct]) -> Iterator[str]:
    return (field.encode_name for table in tables for field in msgspec.structs.fields(table))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_file_that_the_architecture_names_exists() -> None:
    package = ROOT / "src" / "rheostat"
    named = re.findall(r"`([\w/]+\.py)`", (ROOT / "ARCHITECTURE.md").read_text())
    assert named
    assert [
        name for name in named if not any((base / name).is_file() for base in (ROOT, package, package / "spark"))
    ] == []


def test_the_readme_names_every_command_and_policy() -> None:
    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert (commands | policies().keys()) - {"demo"} <= names(ROOT / "README.md")
    assert "make demo" in (ROOT / "README.md").read_text()


def test_every_field_of_a_scenario_is_described() -> None:
    assert set(fields(*SCENARIO_TABLES)) - names(DOCS / "scenarios.md") == set()


def test_every_example_is_described() -> None:
    examples = {path.name for path in (ROOT / "scenarios").glob("*.toml")}
    assert examples == set(re.findall(r"^\| `([\w-]+\.toml)` \|", (DOCS / "scenarios.md").read_text(), re.MULTILINE))


def test_the_small_scenario_can_be_read(tmp_path: Path) -> None:
    (text,) = samples(DOCS / "scenarios.md", "toml")
    told = msgspec.convert(tomllib.loads(text), scenario.ScenarioFile)
    assert scenario.make_scenario(told, tmp_path).duration_s == 300


def test_every_field_model_and_algorithm_of_plans_is_described() -> None:
    entries = (graphfile.TaskEntry, graphfile.EdgeEntry, graphfile.NodeEntry, planfile.OperatorEntry, planfile.PlanFile)
    files = {word for text in samples(DOCS / "planning.md", "json") for word in re.findall(r"\w+", text)}
    known = names(DOCS / "planning.md") | files
    assert {*fields(*entries), *planfile.MODELS, *ALGORITHMS} - known == set()


def test_plans_are_made_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in zip(("network.json", "graph.json"), samples(DOCS / "planning.md", "json"), strict=True):
        Path(name).write_text(text)
    commands = [line for text in samples(DOCS / "planning.md", "sh") for line in text.splitlines()]
    for command in commands:
        monkeypatch.setattr("sys.argv", [*shlex.split(command, comments=True), "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        assert json.loads(capsys.readouterr().out)
    assert len(commands) == 4


def test_every_forecast_is_described() -> None:
    assert FORECASTS.keys() <= names(DOCS / "forecasting.md")


@pytest.fixture
def sample_policy() -> dict[str, object]:
    """What the page on policies defines."""
    policy, test, _ = samples(DOCS / "policies.md", "python")
    space: dict[str, object] = {}
    exec(policy + test, space)
    return space


@pytest.mark.parametrize(
    "test", ["test_three_executors_for_180_records_a_second", "test_operators_that_share_a_pool_get_what_both_need"]
)
def test_the_sample_policy_passes_its_sample_tests(sample_policy: dict[str, object], test: str) -> None:
    sample_policy[test]()  # type: ignore[operator]


def test_the_sample_policy_is_right_about_fused_operators_and_a_spent_budget(sample_policy: dict[str, Any]) -> None:
    """Of fused operators the first is measured; what the budget does not have is not asked for."""
    topology, goal = sample_policy["LINE"], Goal(sample_policy["LINE"], budget=Budget(total=4))
    plan = Plan.initial(topology, fused=[("parse", "rank")])
    rates = {"parse": OperatorMeasures(arrival_rate=700.0, service_rate=100.0), "rank": OperatorMeasures()}
    seen = Observation(Snapshot(1.0, ()), Measures(1.0, rates), plan, budget=goal.budget)
    [decision] = sample_policy["Headroom"](goal).decide(seen)
    assert (decision.pool, decision.executors) == ("rank", 4)


def test_the_sample_lesson_teaches_the_sample_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(samples(DOCS / "policies.md", "python")[2], {})
    goal = scenario.read_scenario(ROOT / "scenarios" / "wordcount-sine.toml").goal
    assert make_policy("q-learning", goal, {"table": "degrees.json"}).name == "q-learning"


def test_the_sample_topology_is_one() -> None:
    pytest.importorskip("pyspark")
    space: dict[str, object] = {}
    exec(samples(ROOT / "README.md", "python")[1], space)
    assert list(space["topology"].operators) == ["split", "count"]  # type: ignore[attr-defined]
