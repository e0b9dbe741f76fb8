"""What every plant keeps to, on a local master: the same tests, in a process of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("local_master.py")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_topology_on_a_local_master_keeps_the_contract():
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(TESTS.parents[2]), str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    assert "passed" in done.stdout
