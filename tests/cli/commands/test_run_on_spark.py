"""`rheostat run` with settings from a file, on a local master."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

APP = """
from rheostat import Operator, Source, Topology


def lines(spark):
    return spark.readStream.schema("text string").json({folder!r} + "/input")


topology = Topology("copy", [Source("lines", reader=lines), Operator("copy", lambda df: df, inputs="lines")])
"""
SETTINGS = """
app = "{folder}/app.py"
sla = "9s"
policy = "static"
master = "local[2]"
dir = "{folder}/run"
for = "8s"
[sinks]
copy = "json:{folder}/out"
[conf]
"spark.sql.shuffle.partitions" = 3
"""


def test_settings_come_from_a_file_and_results_go_to_the_sink(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "lines.json").write_text("".join(json.dumps({"text": f"{n}"}) + "\n" for n in range(9)))
    (tmp_path / "app.py").write_text(APP.format(folder=str(tmp_path)))
    (tmp_path / "run.toml").write_text(SETTINGS.format(folder=tmp_path))
    command = [
        sys.executable,
        "-m",
        "rheostat.cli",
        "run",
        "--config",
        str(tmp_path / "run.toml"),
        "--period",
        "1s",
        "--dashboard",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    written = [json.loads(line) for file in (tmp_path / "out").rglob("*.json") for line in file.read_text().split()]
    assert sorted(row["text"] for row in written) == [str(n) for n in range(9)]
    *lines, last = ran.stdout.splitlines()
    assert len([line for line in lines if line.startswith("dashboard: http://127.0.0.1:")]) == 1
    assert any("latency" in line for line in lines)
    assert last.startswith("stopped; run it again with --dir")
