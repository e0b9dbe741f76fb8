"""What `rheostat` exports, with PySpark and without."""

import subprocess
import sys

import rheostat

NEED_PYSPARK = {
    "Attachment", "EmbeddedCluster", "KafkaSink", "KafkaStreams", "KafkaTopic", "Pipeline", "SparkTarget",
    "StartOptions", "attach", "emits", "final_rows", "per_record", "run", "start",
}  # fmt: skip
WITHOUT_PYSPARK = """
import sys
sys.modules["pyspark"] = None  # importing it fails from now on
sys.modules["py4j"] = None
import rheostat
for name in {names!r}:
    print(name, getattr(rheostat, name).__name__)
from rheostat import Operator, Source, Topology
from rheostat.testing import FakePlant
topology = Topology("t", [Source("in"), Operator("work", inputs="in")])
FakePlant(topology).observe()
try:
    topology.run(sla="2s")
except ImportError as error:
    print(error)
"""


def test_every_name_can_be_imported():
    for name in rheostat.__all__:
        assert getattr(rheostat, name) is not None, name
    assert dir(rheostat) == sorted(rheostat.__all__)


def test_simulator_and_policies_need_no_pyspark():
    names = [name for name in rheostat.__all__ if name not in NEED_PYSPARK]
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYSPARK.format(names=names)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    *imported, why_not = ended.stdout.splitlines()
    assert [line.split()[0] for line in imported] == names
    assert why_not == "rheostat.run needs PySpark: pip install 'rheostat[spark]'"
