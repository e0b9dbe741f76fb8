"""The command line as a whole: errors, help and version."""

import errno
from importlib.metadata import version
from pathlib import Path

import pytest

SCENARIO = Path(__file__).parents[2] / "scenarios" / "wordcount-sine.toml"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "none.toml"], "'none.toml' does not exist"),
        (["simulate", str(SCENARIO), "--policy", "thresold"], "did you mean 'threshold'"),
        (["simulate", str(SCENARIO), "-o", "high"], "NAME=VALUE"),
        (["simulate", str(SCENARIO), "-o", "high=2"], "'high'"),
        (["simulate", str(SCENARIO), "-o", "hihg=0.5"], "did you mean 'high'"),
        (["replay", "none.journal"], "none.journal"),
        (["policies", "drss"], "no policy is called 'drss'"),
        (["plan", "none.json", "--kmax", "5"], "none.json"),
        (["plan", "none.json"], "either --kmax N or --tmax"),
        (["cluster", "status", "--dir", "nowhere"], "nowhere"),
        (["demo", "--picture", "nowhere/demo.png"], "'nowhere/demo.png' cannot be written"),
        (["demo", "--policy", "drss"], "did you mean 'drs'"),
        (["demo", "--policy", "q-learning"], "needs the option 'table'"),
        (["simulate", str(SCENARIO), "--policy", ""], "no policy is called ''"),
        (["simulate", str(SCENARIO), "--journal", str(SCENARIO)], "already exists: give a new file"),
        (
            ["simulate", str(SCENARIO), "--journal", "new.db", "--runs", "2"],
            "a single run, not with --runs 2",
        ),
        (["doctor", "--master", "sparkk://host:7077"], "'sparkk://host:7077' is not a Spark master"),
        (["doctor", "--master", "yarn", "--cluster", "here"], "--master yarn and --cluster here are two clusters"),
        (["doctor", "--cluster", "nowhere"], "nowhere"),
        (["run", str(SCENARIO), "--sla", "2s"], "must end in .py"),
        (["reproduce", "drs-table2", "--out", str(SCENARIO)], "it is a file, give a folder"),
        (["simulate", str(SCENARIO), "--policy", "dabs", "-o", "combine=avg"], '"max" (the higher, cautious) or "min"'),
        (
            ["simulate", str(SCENARIO), "--policy", "dabs", "-o", "grouping=osgg"],
            "load-aware, osg, round-robin",
        ),
        (["simulate", str(SCENARIO), "--policy", "pa-sps", "-o", "headroom=inf"], "<= 10"),
        (["simulate", str(SCENARIO), "--policy", "pa-sps", "-o", "execution_time={"], "not JSON"),
        (
            ["simulate", str(SCENARIO), "--policy", "pa-sps", "-o", 'execution_time={"splt": "2ms"}'],
            "did you mean 'split'",
        ),
        (
            ["simulate", str(SCENARIO), "--policy", "pa-sps", "-o", 'execution_time={"split": "2 moons"}'],
            "'2 moons' is not a duration",
        ),
    ],
)
def test_a_user_error_ends_with_one_line_and_exit_code_2(run, arguments: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run(*arguments)
    assert code == 2
    assert message in err
    assert err.startswith("error: ")
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulat"], "'simulat'"),
        (["simulate"], "'SCENARIO.toml' (see rheostat simulate --help)"),
        (["simulate", "one.toml", "two.toml"], "two.toml"),
        (["simulate", "--seed", "soon", "one.toml"], "'soon'"),
        (["simulate", "--seed", "-7", "one.toml"], "-7"),
        (["plan", "net.json", "--kmax", "1.5"], "1.5"),
        (["plan", "net.json", "--kmax", "99999999999999"], "10000"),
        (["forecast", "load.csv", "--level", "high"], "'high'"),
        (["cluster", "start", "--cores", "0"], "0"),
    ],
)
def test_an_invalid_command_line_is_reported_in_one_line(run, arguments: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert message in err


def test_without_a_command_the_help_is_shown(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run()
    assert code == 2
    assert "simulate" in out + err
    assert "error" not in out + err


def test_without_pyspark_the_error_says_what_to_install(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def missing() -> None:
        raise ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql")

    monkeypatch.setattr("rheostat.cli.app", lambda **_: missing())
    assert run("doctor") == (2, "", "error: this command needs pyspark: pip install 'rheostat[spark]'\n")


def test_the_version_is_printed(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("--version")
    assert (code, out) == (0, f"rheostat {version('rheostat')}\n")


def test_a_full_disk_is_reported_in_one_line(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "out.json")

    monkeypatch.setattr("rheostat.cli.app", full)
    assert run("policies") == (2, "", "error: out.json: No space left on device\n")
