"""Run settings: a file and a command line together, and the file that `rheostat init` writes."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from rheostat.cli.run_settings import RunSettings, merged_settings
from rheostat.cli.settings_template import settings_template
from rheostat.errors import ConfigError
from rheostat.sla import Budget
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("words", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="w")])
FILE = """
app = "words.py"
sla = "5s/30s"
max_executors = 6
for = "10m"
packages = ["a:b:1"]
[executors]
split = 2
[conf]
"spark.executor.memory" = "1g"
"spark.speculation" = true
[sinks]
count = "json:out"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(FILE)
    return path


def test_a_file_gives_settings_and_the_rest_has_defaults(file: Path) -> None:
    settings = merged_settings(file, {})
    assert (settings.app, settings.sla, settings.for_, settings.max_executors) == ("words.py", "5s/30s", "10m", 6)
    assert (settings.policy, settings.dir, settings.period, settings.dry_run) == (
        "rheostat",
        "rheostat-run",
        "2s",
        False,
    )
    assert settings.executors == {"split": 2}
    assert settings.spark_settings == {
        "spark.executor.memory": "1g",
        "spark.speculation": True,
        "spark.jars.packages": "a:b:1",
    }


def test_the_command_line_wins_and_tables_are_merged(file: Path) -> None:
    given = {"sla": "1s", "executors": 3, "conf": {"spark.executor.memory": "2g"}, "sinks": {"split": "console"}}
    settings = merged_settings(file, {**given, "policy": None, "packages": ["c:d:2"]})
    assert (settings.sla, settings.executors, settings.for_) == ("1s", 3, "10m")
    assert settings.conf == {"spark.executor.memory": "2g", "spark.speculation": True}
    assert settings.sinks == {"count": "json:out", "split": "console"}
    assert settings.packages == ["c:d:2"]


def test_a_cluster_on_the_command_line_wins_over_a_master_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('master = "yarn"')
    settings = merged_settings(path, {"cluster": "here", "master": None})
    assert (settings.master, settings.cluster) == (None, "here")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('max_exectors = 3\nsla = "1s"', "has no setting 'max_exectors'; did you mean 'max_executors'?"),
        ("sla = 5", "expected str | null, got int - at sla"),
        ("sla = ", "is not TOML"),
        ("[executors]\nsplit = 'two'", "expected int, got str - at executors"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        merged_settings(path, {})
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml' cannot be read: No such file"):
        merged_settings(tmp_path / "none.toml", {})


def test_executors_bound_and_begin_the_plan() -> None:
    settings = RunSettings(executors={"count": 3}, min_executors=2, max_executors=6)
    budget = settings.budget(TOPOLOGY)
    assert budget == Budget(6, least={"split": 2, "count": 2})
    plan = settings.first_plan(TOPOLOGY, budget)
    assert plan is not None
    assert {name: plan.size(name) for name in TOPOLOGY.operators} == {"split": 2, "count": 3}
    assert RunSettings().first_plan(TOPOLOGY, Budget()) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (RunSettings(executors=4, max_executors=6), "start with 8 executors together, above the 6 of max_executors"),
        (RunSettings(executors=1, min_executors={"count": 2}), "'count' starts with 1 executors, below its minimum"),
        (RunSettings(executors={"cuont": 2}), "did you mean 'count'"),
    ],
)
def test_executors_beyond_the_bounds_are_refused(settings: RunSettings, message: str) -> None:
    with pytest.raises(Exception, match=message):
        settings.first_plan(TOPOLOGY, settings.budget(TOPOLOGY))


def test_the_template_has_every_setting_with_its_default() -> None:
    text = settings_template()
    content = tomllib.loads(text)
    assert msgspec.convert({**content, "app": None, "sla": None}, RunSettings) == RunSettings()
    for field in msgspec.structs.fields(RunSettings):
        assert f"{field.encode_name} = " in text or f"[{field.encode_name}]" in text


def test_the_template_is_valid_with_all_its_examples() -> None:
    lines = settings_template().splitlines()
    examples = [line.removeprefix("# ") for line in lines if line.startswith("[") or " = " in line]
    content = tomllib.loads("\n".join(examples))
    assert set(content) == {field.encode_name for field in msgspec.structs.fields(RunSettings)}
    assert msgspec.convert(content, RunSettings).packages


def test_init_writes_a_file_once(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "mine.toml"
    code, out, _ = run("init", str(path))
    assert (code, path.read_text()) == (0, settings_template())
    assert f"rheostat run --config {path}" in out
    code, _, err = run("init", str(path))
    assert (code, "already exists" in err) == (2, True)
