"""The contract on a local master, for a process of its own: a process can have one Spark context only."""

from collections.abc import Iterator

import pytest
from harness_on_spark import TopologyHarness
from plant_harness import PlantHarness
from test_plants import *  # noqa: F403

from rheostat.spark.session import build_session


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlantHarness]:
    spark = build_session("contract", master="local[2]", settings={"spark.ui.enabled": False})
    harness = TopologyHarness(spark, tmp_path_factory.mktemp("local"))
    yield harness
    harness.close()
    spark.stop()
