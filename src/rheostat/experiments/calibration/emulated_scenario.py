"""Emulated scenario: calibrates a scenario as it runs on Spark, where operators wait as long as a service takes."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rheostat.experiments.calibration.measurements import Measurements
from rheostat.experiments.calibration.spark_measurement import CalibrationSettings, Progress, measure_on_spark
from rheostat.experiments.on_spark.record_log import RecordLog
from rheostat.experiments.on_spark.refusals import check_scenario
from rheostat.experiments.on_spark.run import RUN_SETTINGS
from rheostat.experiments.on_spark.translation import SparkScenario
from rheostat.experiments.scenario import Scenario
from rheostat.spark.target import SparkTarget

if TYPE_CHECKING:
    from rheostat.spark.cluster.address import ClusterAddress
    from rheostat.spark.cluster.embedded import EmbeddedCluster


def default_rates(scenario: Scenario) -> Sequence[float]:
    """A third, two thirds and all of the highest rate of the scenario's sources."""
    loads = [source.load for source in scenario.model.sources.values()]
    times_s = np.arange(0.0, scenario.duration_s, scenario.model.resolution_s)
    peak = max(float(load.rates(times_s).max()) for load in loads)
    return [round(peak * share, 3) for share in (1 / 3, 2 / 3, 1.0)]


def measure_scenario(
    scenario: Scenario,
    settings: CalibrationSettings,
    *,
    master: str | None = None,
    cluster: "EmbeddedCluster | ClusterAddress | None" = None,
    seed: int = 0,
    progress: Progress = lambda what, share: None,
) -> Measurements:
    """Run the operators of `scenario` on Spark with each setting; each source gets the given rates, not its load."""
    check_scenario(scenario, plain=False)
    with tempfile.TemporaryDirectory(prefix="rheostat-calibrate-", ignore_cleanup_errors=True) as name:
        log = RecordLog()
        on_spark = SparkScenario(scenario, Path(name), log, seed)

        @contextmanager
        def feed(rate: float | None) -> Iterator[None]:
            with ExitStack() as feeding:
                for feeder in on_spark.trickle(rate or 0.0):
                    feeding.enter_context(feeder)
                yield

        return measure_on_spark(
            on_spark.topology,
            SparkTarget(master=master, cluster=cluster, settings=RUN_SETTINGS),
            Path(name) / "run",
            settings,
            feed=feed,
            sinks={operator: log.sink(operator) for operator in on_spark.results},
            progress=progress,
        )
