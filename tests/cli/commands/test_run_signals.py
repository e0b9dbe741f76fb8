"""`rheostat run` under signals, in a process of its own: the batch that runs is finished first."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

ROWS = 12
APP = """
import time
from pathlib import Path

from rheostat import Operator, Source, Topology, per_record

FOLDER = Path({folder!r})


def lines(spark):
    return spark.readStream.schema("text string").json(str(FOLDER / "input"))


@per_record("text string")
def work(row):
    (FOLDER / "begun").touch()
    time.sleep({sleep_s})
    yield {{"text": row["text"]}}


topology = Topology("slow", [Source("lines", reader=lines), Operator("work", work, inputs="lines")])
"""


@pytest.fixture
def begun_run(tmp_path, eventually):  # type: ignore[no-untyped-def]
    """Starts a run and returns its process once its first batch is under way."""
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "lines.json").write_text("".join(json.dumps({"text": f"{n}"}) + "\n" for n in range(ROWS)))
    processes = []

    def start(sleep_s: float) -> "subprocess.Popen[str]":
        app = tmp_path / "app.py"
        app.write_text(APP.format(folder=str(tmp_path), sleep_s=sleep_s))
        command = [sys.executable, "-m", "rheostat.cli", "run", str(app), "--sla", "2s", "--master", "local[2]"]
        process = subprocess.Popen(
            [*command, "--policy", "static", "--dir", str(tmp_path / "run")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        eventually(lambda: (tmp_path / "begun").exists() or process.poll() is not None or None, "the first batch")
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_when_the_batch_under_way_is_committed(
    begun_run, tmp_path: Path, number: int, status: int
) -> None:
    process = begun_run(0.3)
    if number == signal.SIGINT:  # a terminal sends it to all processes of its group
        os.killpg(process.pid, number)
    else:
        os.kill(process.pid, number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == status, output
    assert f"run it again with --dir {tmp_path / 'run'}" in " ".join(output.replace("\n", "").split())
    assert (tmp_path / "run" / "checkpoints" / "work" / "commits" / "0").exists(), output
    results = pq.read_table(tmp_path / "run" / "results" / "work")
    assert sorted(int(text) for text in results["text"].to_pylist()) == list(range(ROWS))


@pytest.mark.slow
def test_a_second_signal_does_not_wait_for_the_batch(begun_run, tmp_path: Path) -> None:
    process = begun_run(5.0)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert not (tmp_path / "run" / "checkpoints" / "work" / "commits" / "0").exists()
