"""What the documentation says is tried here: its samples run, and it leaves out nothing that there is."""

import json
import os
import re
import runpy
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
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


def test_the_options_of_all_policies_are_as_they_are_declared() -> None:
    """If not: `scripts/write-policy-options`."""
    script = runpy.run_path(str(ROOT / "scripts" / "write-policy-options"))
    page = (DOCS / "policies.md").read_text()
    assert script["with_options"](page) == page


def test_a_policy_is_recommended_for_each_purpose_by_a_name_that_exists() -> None:
    recommended = re.findall(r"^\| [^`|]+ \| `([\w-]+)`", (DOCS / "policies.md").read_text(), re.MULTILINE)
    assert len(recommended) > 5
    assert set(recommended) <= policies().keys()


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
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False)
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
    attempts = 5
    while not list((tmp_path / "sensors-run" / "results").glob("mean/batch=*")) and (attempts := attempts - 1):
        run_shell(run.splitlines()[-1], tmp_path)  # on a busy machine the time was too short: it continues
    rows = re.findall(r"^sensor-\d+ +(\d+) ", run_shell(results, tmp_path), re.MULTILINE)
    assert len(rows) == 20
    assert sum(map(int, rows)) == 500 * len(list((tmp_path / "readings").glob("*.txt")))
    assert "policy rheostat, SLA 5s over 30s" in run_shell(decisions, tmp_path)


def test_the_first_pipeline_is_simulated_as_shown(tmp_path: Path) -> None:
    page = DOCS / "first-pipeline.md"
    written(page, "toml", tmp_path, "sensors.toml")
    assert run_shell(samples(page, "sh")[-1], tmp_path).count("100.00 %") == 2


@pytest.mark.slow
@pytest.mark.spark
def test_the_driver_of_an_existing_application_runs_dry_on_this_machine(tmp_path: Path) -> None:
    page = DOCS / "existing-application.md"
    written(page, "python", tmp_path, "driver.py")
    shown = run_shell(samples(page, "sh")[0], tmp_path)
    assert "'rates' attached: policy 'rheostat', SLA 5s over 30s, dry run: nothing is changed" in shown
    assert re.search(r"executors +1, \d+ recommended", shown)


READINGS = [("a", 0, 20.0), ("b", 10, 30.0), ("a", 20, 44.0), ("b", 30, 99.0), ("a", 40, 26.0), ("c", 120, 21.0)]
"""Sensor, second and value. The last one closes the window of the first minute."""

RESULTS = {
    ("checked", "minutes"): [{"sensor": "a", "celsius": 30.0}, {"sensor": "b", "celsius": 30.0}],
    ("checked", "check.bad"): [{"sensor": "b", "reason": "99.0 is impossible"}],
    ("explained", "explain"): [{"sensor": "a", "celsius": 44.0, "code": 7}],
    ("records", "record"): [
        {"sensor": "a", "celsius": 44.0}, {"sensor": "b", "celsius": 99.0}, {"sensor": "c", "celsius": 21.0},
    ],
    ("cooled", "cool.done"): [
        {"sensor": "a", "celsius": 10.0}, {"sensor": "a", "celsius": 16.0}, {"sensor": "a", "celsius": 24.0},
        {"sensor": "b", "celsius": 19.0}, {"sensor": "b", "celsius": 20.0}, {"sensor": "c", "celsius": 11.0},
    ],
}  # fmt: skip


RUN_ALL = """
import json, sys, time
from rheostat.cli.application import load_topology
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.session import build_session

spark = build_session("topologies", master="local[2]", settings={"spark.ui.enabled": False})
for name, counts in json.loads(sys.argv[1]).items():
    topology = load_topology(f"app.py:{name}")
    with Runtime(topology, spark, RunDirectory(name, topology)) as runtime:
        for result, rows in counts.items():
            deadline_s, found = time.monotonic() + 90, []
            while len(found) < rows and time.monotonic() < deadline_s:
                runtime.wait(0.2)
                if any(runtime.directory.results(result).glob("batch=*/*.parquet")):
                    found = runtime.results(result).drop("batch", "at").toJSON().collect()
            print(name, result, *found, sep="\\t", flush=True)
"""
"""Prints the rows of each result, once there are so many. The session is not shared: it is busy with Python workers."""


@pytest.mark.slow
@pytest.mark.spark
def test_the_topologies_that_are_shown_have_the_results_that_are_described(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("\n\n".join(samples(DOCS / "topologies.md", "python")))
    (tmp_path / "run_all.py").write_text(RUN_ALL)
    write_lines(tmp_path, "readings", [{"sensor": s, "at": moment(at), "celsius": value} for s, at, value in READINGS])
    write_lines(tmp_path, "faults", [{"sensor": "a", "since": moment(18), "code": 7}])
    counts: dict[str, dict[str, int]] = {}
    for (name, result), rows in RESULTS.items():
        counts.setdefault(name, {})[result] = len(rows)
    output = run_shell(f"python run_all.py {shlex.quote(json.dumps(counts))}", tmp_path)
    printed = [line.split("\t") for line in output.splitlines()]
    found = {(name, result): sorted(map(json.loads, rows), key=str) for name, result, *rows in printed}
    assert found == RESULTS


def moment(second: int) -> str:
    return f"2026-01-31T12:{second // 60:02d}:{second % 60:02d}Z"


def write_lines(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / name).mkdir()
    (folder / name / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_journal_is_explained_replayed_and_queried_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS / "journal.md"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    lines = [line for text in samples(page, "sh") for line in text.splitlines()]
    outputs = dict(zip(lines, [output_of(line, monkeypatch, capsys) for line in lines], strict=True))
    assert "policy drs" in outputs["rheostat explain run.db"]
    assert "turn at 1m30s" in outputs["rheostat explain run.db --at 90s"]
    assert json.loads(outputs["rheostat explain run.db --at 90s --operator count --json"])["policy"] == "drs"
    assert "snapshots replayed with threshold" in outputs["rheostat replay run.db --policy threshold"]
    with closing(sqlite3.connect("run.db")) as connection:
        for query in samples(page, "sql"):
            assert len(connection.execute(query).fetchall()) > 1, query
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        [version] = connection.execute("PRAGMA user_version").fetchone()
    assert tables == set(re.findall(r"^\| `(\w+)` \| ", page.read_text(), re.MULTILINE))
    assert f"Format {version} is the present one" in page.read_text()
    exec(samples(page, "python")[0], {})
    assert re.fullmatch(r"run 1, policy drs: \d+ decisions\n", capsys.readouterr().out)


def output_of(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints; it must succeed."""
    monkeypatch.setattr("sys.argv", shlex.split(line, comments=True))
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert not ended.value.code, f"{line}: {printed.err}"
    return printed.out
