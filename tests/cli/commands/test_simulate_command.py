import json
from pathlib import Path

import pytest


def test_the_documented_keys_are_printed_as_json(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("simulate", str(short), "--policy", "threshold", "--seed", "4", "--json")
    result = json.loads(out)
    documented = {
        "success_rate", "success_rate_by_substream", "mean_executors", "executor_seconds", "mean_latency_s",
        "p99_latency_s", "arrived", "completed", "queued", "lost", "decisions", "switching_events",
        "switching_time_s", "switching_share", "saved_resources", "throughput_degradation",
    }  # fmt: skip
    assert code == 0
    assert documented <= result.keys()
    assert result["operators"]["count"]["mean_latency_s"] > 0
    assert result["seed"] == 4


def test_tables_are_printed_without_json(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("simulate", str(short))
    assert code == 0
    assert "success rate" in out
    assert "split" in out


def test_without_numba_a_warning_says_that_it_is_slow(run, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("rheostat.cli.commands.simulate.COMPILED", False)
    code, out, err = run("simulate", str(short), "--json")
    assert (code, json.loads(out)["seed"]) == (0, 0)
    assert err == "simulating without numba is very slow: pip install 'rheostat[sim]'\n"


def test_an_option_in_braces_is_a_json_object(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    option = 'reservation={"split": 0.5}'
    assert run("simulate", str(short), "--policy", "dabs", "-o", option, "-o", "grouping=keep")[0] == 0


def test_ctrl_c_ends_quietly_with_130(run, monkeypatch: pytest.MonkeyPatch, short: Path) -> None:  # type: ignore[no-untyped-def]
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rheostat.cli.commands.simulate.simulate", interrupted)
    assert run("simulate", str(short)) == (130, "", "")


def test_what_no_policy_can_achieve_is_told_before_the_run(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    text = short.read_text()
    assert "[[sla]]" in text
    short.write_text(text.replace("[[sla]]", '[[sla]]\nlatency = "1us"\nwindow = "10s"\n\n[[sla]]', 1))
    code, out, err = run("simulate", str(short), "--json")
    assert code == 0
    (why,) = json.loads(out)["cannot_be_met"]
    assert why.endswith("at least, without any queue: SLA 1us over 10s")
    assert err == f"cannot be met, whatever the policy: {why}\n"


def test_the_time_series_is_printed_when_asked_for(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("simulate", str(short), "--json", "--series")
    assert code == 0
    series = json.loads(out)["series"]
    assert set(series[-1]) == {"time_s", "input_rate", "latency_s", "backlog", "executors", "sla_met"}
    assert "series" not in json.loads(run("simulate", str(short), "--json")[1])
    code, _, err = run("simulate", str(short), "--series")
    assert code != 0
    assert "--series needs --json" in err


def test_recorded_traces_may_be_in_another_folder(run, short: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lines = [
        'load = { csv = "t.csv" }' if line.startswith("load =") else line for line in short.read_text().splitlines()
    ]
    short.write_text("\n".join(lines))
    code, _, err = run("simulate", str(short), "--json")
    assert code == 2
    assert "t.csv cannot be read: No such file" in err
    assert "--traces DIR" in err
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    (recorded / "t.csv").write_text("time,value\n0,20\n1,20\n")
    code, out, _ = run("simulate", str(short), "--traces", str(recorded), "--json")
    assert (code, json.loads(out)["arrived"] > 0) == (0, True)
