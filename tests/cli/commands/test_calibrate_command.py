"""`rheostat calibrate`: what it refuses before Spark starts, and a short run on Spark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = Path(__file__).parents[3] / "bench" / "calibration.toml"

APP = """
from rheostat import Operator, Source, Topology

lines = Source("lines", reader=lambda spark: None)
words = Topology("words", [lines, Operator("count", lambda df: df, inputs="lines")])
"""


@pytest.fixture
def app(tmp_path: Path) -> str:
    path = tmp_path / "words.py"
    path.write_text(APP)
    return str(path)


def refused(run, *arguments: str) -> str:  # type: ignore[no-untyped-def]
    status, _, printed = run("calibrate", *arguments)
    assert status == 2
    assert "Traceback" not in printed
    return str(printed)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--executors", "2"), "'2' is one number only"),
        (("--executors", "2,2"), "could not be told apart; give several, e.g. 1,2,4"),
        (("--executors", "4,2"), "never rise: no start of an executor would be seen"),
        (("--executors", "0,2"), "are not numbers of executors: give some, e.g. 1,2,4"),
        (("--executors", "few"), "'few' are not numbers of executors"),
        (("--rates", "20,60"), "give --feed DIR"),
        (("--rates", "fast", "--feed", "in", "--records", "x"), "--rates 'fast' are not rates"),
        (("--rates", "-1"), "--rates '-1' are not rates"),
        (("--feed", "in"), "--feed and --records need --rates"),
        (("--time", "0s"), "--time '0s' must be longer than zero"),
        (("--master", "here"), "--master 'here' is not a Spark master"),
        (("--master", "local[2]"), "--master local[2] has one process for everything"),
        (("--out", "none/plant.toml"), "its folder does not exist"),
    ],
)
def test_a_mistake_is_refused_before_spark_starts(run, app: str, options: tuple[str, ...], reason: str) -> None:  # type: ignore[no-untyped-def]
    assert reason in refused(run, app, *options)


def test_an_unknown_application_is_refused(run) -> None:  # type: ignore[no-untyped-def]
    assert "application 'none.py' does not exist" in refused(run, "none.py")


def test_an_unknown_scenario_is_refused(run) -> None:  # type: ignore[no-untyped-def]
    assert "scenario 'none.toml' does not exist" in refused(run, "none.toml")


@pytest.mark.parametrize("app", [str(SCENARIO), "orders"])
def test_a_scenario_or_a_named_application_has_its_own_input(run, tmp_path: Path, app: str) -> None:  # type: ignore[no-untyped-def]
    assert "--feed is for your own application" in refused(run, app, "--feed", str(tmp_path))


def test_the_name_of_no_application_names_the_near_ones(run) -> None:  # type: ignore[no-untyped-def]
    assert "there is no application 'order'; did you mean 'orders'" in refused(run, "order")


@pytest.mark.spark
@pytest.mark.slow
def test_a_named_application_is_calibrated_on_generated_input(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "plant.toml"
    options = ("--executors", "1,2", "--time", "25s", "--rates", "20,40", "--out", str(out), "--json")
    status, printed, _ = run("calibrate", "nexmark-q1", *options)
    assert status == 0
    assert json.loads(printed)["operators"]
    assert run("simulate", str(out), "--json")[0] == 0


@pytest.mark.spark
@pytest.mark.slow
def test_a_scenario_is_calibrated_and_can_be_simulated(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "plant.toml"
    settings = ["--executors", "1,2", "--time", "15s", "--out", str(out)]
    command = [sys.executable, "-m", "rheostat.cli", "calibrate", str(SCENARIO), *settings]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "serve: service time" in ran.stdout
    status, printed, _ = run("simulate", str(out), "--policy", "static", "--json")
    assert status == 0
    assert json.loads(printed)["completed"] > 1000
