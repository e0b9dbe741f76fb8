"""A driver program without Rheostat joins an embedded cluster by the settings in its folder."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from rheostat.spark.cluster.embedded import EmbeddedCluster

pytestmark = pytest.mark.spark

PROGRAM = """
from pyspark.sql import SparkSession

settings = {"spark.cores.max": "1", "spark.executor.memory": "512m"}
builder = SparkSession.builder.appName("visitor")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
rows = spark.sparkContext.parallelize(range(100), 2).map(lambda number: number + 1).sum()
print("joined", spark.sparkContext.master, rows)
"""


@pytest.mark.slow
def test_by_the_folder_of_settings_or_the_file_in_it(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    settings = cluster.conf / "spark-defaults.conf"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert stat.S_IMODE(cluster.conf.stat().st_mode) == 0o700
    program = tmp_path / "visitor.py"
    program.write_text(PROGRAM)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    ways = {
        (sys.executable, str(program)): {"SPARK_CONF_DIR": str(cluster.conf)},
        (str(submit), "--properties-file", str(settings), str(program)): {},
    }
    for command, variables in ways.items():
        environ = {**os.environ, "PYSPARK_PYTHON": sys.executable, **variables}
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=150, check=False)
        assert f"joined {cluster.master_url} 5050" in ran.stdout, ran.stderr[-2000:]
