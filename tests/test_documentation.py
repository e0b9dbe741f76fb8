"""What the documentation says is tried here: its samples run, and it leaves out nothing that there is."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import typer

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


def anchors(page: Path) -> set[str]:
    """The anchors that a site has for the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.M), re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip()) for heading in plain}


def commands(page: Path) -> Iterator[str]:
    """The lines of its code that start with `rheostat`, and those in the text that show no alternatives."""
    text = page.read_text()
    blocks = re.findall(r"^```(?:sh|text)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    yield from (line for block in blocks for line in block.splitlines() if line.startswith("rheostat "))
    inline = re.findall(r"(?<!`)`(rheostat [^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.M))
    yield from (code for code in inline if not re.search(r"[][|…]|\.\.\.", code))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text())
    targets = [((page.parent / link).resolve() if link else page, anchor) for link, anchor in links]
    assert [path for path, _ in targets if not path.exists()] == []
    assert [(path.name, anchor) for path, anchor in targets if anchor and anchor not in anchors(path)] == []
    if page.is_relative_to(DOCS):
        assert [path for path, _ in targets if not path.is_relative_to(DOCS)] == [], "a site has only what is in docs/"


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    listed = re.findall(r"^ +- [^:]+: (\S+\.md)$", text[text.index("\nnav:") :], re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_has_the_options_that_are_shown(page: Path) -> None:
    for line in commands(page):
        command, words = typer.main.get_command(app), shlex.split(line, comments=True)[1:]
        context = click.Context(command)
        while isinstance(command, click.Group) and words:
            found = command.get_command(context, words.pop(0))
            assert found is not None, f"there is no command {line!r}"
            command = found
        try:
            command.make_context("rheostat", words)
        except click.UsageError as error:
            pytest.fail(f"{line}: {error.format_message()}")


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


def run_shell(text: str, folder: Path) -> str:
    """The output of commands as a user would type them."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200"}
    command = ["bash", "-euc", text]
    ran = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200
    )
    assert ran.returncode == 0, f"{text}{ran.stdout}{ran.stderr[-3000:]}"
    return ran.stdout


def written(page: Path, language: str, folder: Path, *names: str) -> None:
    """Write the samples of a page as files of these names."""
    for name, text in zip(names, samples(page, language), strict=True):
        (folder / name).write_text(text)


@pytest.mark.spark
def test_the_first_pipeline_leads_from_nothing_to_exact_results(tmp_path: Path) -> None:
    page = DOCS / "first-pipeline.md"
    written(page, "python", tmp_path, "readings.py", "app.py", "results.py")
    run, results, decisions, _ = samples(page, "sh")
    assert "stopped; run it again" in run_shell(run, tmp_path)
    rows = re.findall(r"^sensor-\d+ +(\d+) ", run_shell(results, tmp_path), re.MULTILINE)
    assert len(rows) == 20
    assert sum(map(int, rows)) == 500 * len(list((tmp_path / "readings").glob("*.txt")))
    assert "policy drs, SLA 5s over 30s" in run_shell(decisions, tmp_path)


def test_the_first_pipeline_is_simulated_as_shown(tmp_path: Path) -> None:
    page = DOCS / "first-pipeline.md"
    written(page, "toml", tmp_path, "sensors.toml")
    assert run_shell(samples(page, "sh")[-1], tmp_path).count("100.00 %") == 2


@pytest.mark.spark
def test_the_driver_of_an_existing_application_runs_dry_on_this_machine(tmp_path: Path) -> None:
    page = DOCS / "existing-application.md"
    written(page, "python", tmp_path, "driver.py")
    shown = run_shell(samples(page, "sh")[0], tmp_path)
    assert "'rates' attached: policy 'drs', SLA 5s over 30s, dry run: nothing is changed" in shown
    assert re.search(r"executors +1, \d+ recommended", shown)
