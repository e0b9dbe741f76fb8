import errno
import json
from importlib.metadata import version
from pathlib import Path

import pytest

from rheostat.cli import main

SCENARIO = Path(__file__).parents[2] / "scenarios" / "wordcount-sine.toml"


def rheostat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    """Exit code, output and error output of the command line."""
    monkeypatch.setattr("sys.argv", ["rheostat", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    code = ended.value.code
    return (0 if code is None else int(code)), told.out, told.err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    return lambda *words: rheostat(capsys, monkeypatch, *words)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "short.toml"
    path.write_text(SCENARIO.read_text().replace('duration = "10m"', 'duration = "20s"'))
    return path


def test_simulate_prints_the_promised_keys_as_json(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("simulate", str(short), "--policy", "threshold", "--seed", "4", "--json")
    told = json.loads(out)
    promised = {
        "success_rate", "success_rate_by_substream", "mean_executors", "executor_seconds", "mean_latency_s",
        "p99_latency_s", "arrived", "completed", "queued", "lost", "decisions", "switching_events",
        "switching_time_s", "switching_share", "saved_resources", "throughput_degradation",
    }  # fmt: skip
    assert code == 0
    assert promised <= told.keys()
    assert told["operators"]["count"]["mean_latency_s"] > 0
    assert told["seed"] == 4


def test_simulate_prints_tables_for_people(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("simulate", str(short))
    assert code == 0
    assert "success rate" in out
    assert "split" in out


def test_without_numba_it_is_told_that_it_takes_long(run, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("rheostat.cli.simulate.COMPILED", False)
    code, out, err = run("simulate", str(short), "--json")
    assert (code, json.loads(out)["seed"]) == (0, 0)
    assert err == "without numba this takes very long: pip install 'rheostat[sim]'\n"


def test_a_journal_is_written_and_replayed(run, short: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    journal = tmp_path / "run.journal"
    assert run("simulate", str(short), "--journal", str(journal))[0] == 0
    code, out, _ = run("replay", str(journal), "--policy", "threshold")
    assert code == 0
    assert ", 0 different" in out


@pytest.mark.parametrize(
    ("words", "message"),
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
        (["simulate", str(SCENARIO), "--journal", str(SCENARIO)], "exists already: name a new file"),
        (["simulate", str(SCENARIO), "--journal", "new.db", "--runs", "2"], "for a single run, not for 2"),
        (["doctor", "--master", "sparkk://host:7077"], "'sparkk://host:7077' is no Spark master"),
        (["doctor", "--master", "yarn", "--cluster", "here"], "--master yarn and --cluster here are two clusters"),
        (["doctor", "--cluster", "nowhere"], "nowhere"),
        (["run", str(SCENARIO), "--sla", "2s"], "must end in .py"),
        (["reproduce", "drs-table2", "--out", str(SCENARIO)], "it is a file, name a folder"),
        (["simulate", str(SCENARIO), "--policy", "dabs", "-o", "combine=avg"], '"max" (cautious) or "min"'),
        (["simulate", str(SCENARIO), "--policy", "dabs", "-o", "grouping=osgg"], "osg, load-aware, round-robin"),
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
def test_a_mistake_ends_with_one_sentence_and_code_2(run, words: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run(*words)
    assert code == 2
    assert message in err
    assert err.startswith("error: ")
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("words", "message"),
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
def test_a_command_line_that_makes_no_sense_is_told_in_one_line(run, words: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert message in err


def test_without_a_command_the_help_is_shown(run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run()
    assert code == 2
    assert "simulate" in out + err
    assert "error" not in out + err


def test_an_application_is_checked_before_spark_starts(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "app.py"
    path.write_text(
        "from rheostat.topology import Operator, Source, Topology\n"
        "topology = Topology('t', [Source('in'), Operator('work', inputs='in')])\n"
    )
    for mistake, message in [
        (["--policy", "drss"], "did you mean 'drs'"),
        (["-o", "high=2"], "'high'"),
        (["--period", "soon"], "--period 'soon'"),
        (["--for", "0s"], "--for '0s'"),
        (["--master", "here"], "'here' is no Spark master"),
    ]:
        code, _, err = run("run", str(path), "--sla", "2s/10s", *mistake)
        assert (code, message in err) == (2, True)


def test_without_pyspark_the_user_is_told_what_to_install(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def lacking() -> None:
        raise ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql")

    monkeypatch.setattr("rheostat.cli.app", lambda **_: lacking())
    assert run("doctor") == (2, "", "error: this command needs pyspark: pip install 'rheostat[spark]'\n")


def test_ctrl_c_ends_quietly_with_130(run, monkeypatch: pytest.MonkeyPatch, short: Path) -> None:  # type: ignore[no-untyped-def]
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rheostat.cli.simulate.simulate", interrupted)
    assert run("simulate", str(short)) == (130, "", "")


def test_policies_are_listed_with_a_line_each(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("policies")
    assert code == 0
    assert "static" in out
    assert "threshold" in out


def test_the_options_of_a_policy_are_told_with_their_defaults(run) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = run("policies", "threshold")
    assert "high" in out
    assert "0.8" in out


def test_a_plan_is_made_from_a_file(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "net.json"
    file.write_text(
        json.dumps(
            {
                "external_rate": 10,
                "operators": [
                    {"name": "a", "arrival_rate": 10, "service_rate": 4},
                    {"name": "b", "arrival_rate": 10, "service_rate": 8},
                ],
            }
        )
    )
    code, out, _ = run("plan", str(file), "--kmax", "8", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["total"] == sum(told["allocation"].values()) == 8
    code, _, err = run("plan", str(file), "--tmax", "10ms")
    assert code == 2
    assert "possible" in err or "latency" in err


def test_an_option_in_braces_is_a_table(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    option = 'reservation={"split": 0.5}'
    assert run("simulate", str(short), "--policy", "dabs", "-o", option, "-o", "grouping=keep")[0] == 0


def test_the_version_is_told(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("--version")
    assert (code, out) == (0, f"rheostat {version('rheostat')}\n")


def test_a_disk_that_is_full_ends_with_a_sentence(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "out.json")

    monkeypatch.setattr("rheostat.cli.app", full)
    assert run("policies") == (2, "", "error: out.json: No space left on device\n")
