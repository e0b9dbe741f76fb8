"""On a real cluster: each record of a scenario is counted exactly once, and all figures are there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("spark_run_program.py")


def test_each_record_is_counted_once_under_a_policy_and_under_dynamic_allocation():
    policies = ("threshold", "spark-dra")
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), *policies], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [each["run"]["policy"] for each in found] == list(policies)
    for each in found:
        run, records = each["run"], each["records"]
        assert records["entered"] == pytest.approx(400, abs=10)
        assert records["results"] == list(range(records["entered"]))
        assert records["counted"] == records["all_results"]
        assert (run["plant"], run["seed"], run["lost"], run["late"]) == ("spark", 0, 0, 0)
        assert run["duration_s"] == 20
        assert 0 <= run["success_rate"] <= 1
        assert 1 <= run["mean_executors"] <= 4
        assert 20 <= run["executor_seconds"] <= 5 * 20
        assert 0 < run["mean_latency_s"] <= run["p99_latency_s"]
        assert 5 <= len(run["series"]) <= 11
        assert run["throughput_degradation"] > 0
