import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rheostat.experiments.comparison.jobs import PolicyJob

ROOT = Path(__file__).parents[3]
QUICK = ("--policies", "static,threshold", "--seeds", "2", "--reference-runs", "0", "--processes", "1")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_tables_report_and_results_are_written(run, short: Path, out: Path) -> None:  # type: ignore[no-untyped-def]
    code, printed, err = run("compare", str(short), *QUICK, "--out", str(out))
    assert code == 0
    assert "word count, sine: SLA 500ms over 10s" in printed
    assert "ranking over 1 scenario, default settings" in printed
    assert err == f"4 jobs, 0 of them reused from an earlier comparison; report: {out / 'report.html'}\n"
    assert {path.name for path in out.iterdir()} == {"comparison.json", "report.html", "runs.jsonl", "runs.lock"}
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_everything_is_printed_as_json_and_nothing_is_run_twice(run, short: Path, out: Path) -> None:  # type: ignore[no-untyped-def]
    run("compare", str(short), *QUICK, "--out", str(out))
    code, printed, err = run("compare", str(short), *QUICK, "--out", str(out), "--json")
    found = json.loads(printed)
    assert code == 0
    assert "4 of them reused" in err
    assert found == json.loads((out / "comparison.json").read_text())
    (scenario,) = found["scenarios"]
    figures = scenario["entries"][0]["figures"]
    assert {
        "success_rate", "mean_executors", "executor_seconds", "mean_latency_s", "p99_latency_s", "out_of_sla_s", "late",
        "lost", "moves", "scalings", "reversals", "scale_ins_late", "saved_resources", "throughput_degradation",
    } <= figures.keys()  # fmt: skip
    assert scenario["entries"][0]["runs"][0]["series"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policies", "dsr"], "policy 'dsr' is unknown: did you mean "),
        (["--on", "sprak"], "plant 'sprak' is unknown: did you mean 'spark'?"),
        (["--seeds", "0"], "invalid value for '--seeds'"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(  # type: ignore[no-untyped-def]
    run, short: Path, out: Path, arguments: list[str], message: str
) -> None:
    code, printed, err = run("compare", str(short), *arguments, "--out", str(out))
    assert (code, printed) == (2, "")
    assert message in err
    assert not out.exists()


def test_an_unknown_scenario_names_the_near_ones(run, short: Path) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("compare", str(short.with_name("shrot.toml")))
    assert code == 2
    assert f"did you mean {short}" in err


def test_a_failed_job_is_named_and_the_exit_status_tells(  # type: ignore[no-untyped-def]
    run, short: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(job: PolicyJob) -> object:
        if job.policy == "static":
            raise ValueError("no such luck")
        return original(job)

    original = PolicyJob.run
    monkeypatch.setattr(PolicyJob, "run", fails)
    code, printed, err = run("compare", str(short), *QUICK, "--out", str(out))
    assert code == 1
    assert "failed: word count, sine: static (default), seed 0: ValueError: no such luck" in err
    assert "threshold" in printed


def test_ctrl_c_says_how_to_resume(run, short: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def interrupted(job: PolicyJob) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(PolicyJob, "run", interrupted)
    code, printed, err = run("compare", str(short), *QUICK, "--out", str(out))
    assert (code, printed) == (130, "")
    assert err == f"interrupted: the same command resumes from {out / 'runs.jsonl'}\n"


@pytest.mark.parametrize("killed_by", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_comparison_leaves_no_process_and_is_resumed(  # type: ignore[no-untyped-def]
    run, short: Path, out: Path, killed_by: signal.Signals
) -> None:
    arguments = ["compare", str(short), "--policies", "static", "--reference-runs", "0", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rheostat.cli", *arguments, "--seeds", "400", "--processes", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job of a shell ignores it
    )
    wait_until(lambda: (out / "runs.jsonl").exists() and (out / "runs.jsonl").stat().st_size > 0)
    if killed_by is signal.SIGINT:
        os.killpg(process.pid, killed_by)
    else:
        process.kill()
    printed, err = process.communicate(timeout=60)
    assert printed == ""
    if killed_by is signal.SIGINT:
        assert process.returncode == 130
        assert err == f"interrupted: the same command resumes from {out / 'runs.jsonl'}\n"
    wait_until(lambda: not is_alive(process.pid))
    with (out / "runs.jsonl").open("ab") as file:
        file.write(b'{"key": "cut o')
    code, _, err = run(*arguments, "--seeds", "2", "--processes", "1")
    assert code == 0
    assert re.search(r"2 jobs, [12] of them reused", err)  # the first of two processes to finish had seed 0 or 1


def wait_until(is_so, timeout_s: float = 240.0) -> None:  # type: ignore[no-untyped-def]
    deadline_s = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def is_alive(group: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
