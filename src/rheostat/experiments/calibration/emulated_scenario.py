"""Emulated scenario: calibrates a scenario as it runs on Spark, where operators wait as long as a service takes."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rheostat.experiments.calibration.measurements import Measurements
from rheostat.experiments.calibration.spark_measurement import CalibrationSettings, Progress, measure_on_spark
from rheostat.experiments.needed_executors import operator_rates
from rheostat.experiments.on_spark.record_log import RecordLog
from rheostat.experiments.on_spark.refusals import check_scenario
from rheostat.experiments.on_spark.run import RUN_SETTINGS
from rheostat.experiments.on_spark.translation import SparkScenario
from rheostat.experiments.scenario import Scenario
from rheostat.spark.target import SparkTarget

if TYPE_CHECKING:
    from rheostat.spark.cluster.address import ClusterAddress
    from rheostat.spark.cluster.embedded import EmbeddedCluster

_UTILISATIONS = (0.25, 0.5, 0.75)


def default_rates(scenario: Scenario) -> Sequence[float]:
    """Rates of each source, for one executor of each operator, at which the busiest one works for a quarter, a half
    and three quarters of its time."""
    model = scenario.model
    by_operator = operator_rates(model, dict.fromkeys(model.topology.sources, 1.0))
    busy = max(rate * model.operator(name).service.mean_s for name, rate in by_operator.items())
    return [round(share / busy, 3) for share in _UTILISATIONS]


def measure_scenario(
    scenario: Scenario,
    settings: CalibrationSettings,
    *,
    master: str | None = None,
    cluster: "EmbeddedCluster | ClusterAddress | None" = None,
    seed: int = 0,
    progress: Progress = lambda what, share: None,
) -> Measurements:
    """Run the operators of `scenario` on Spark with each setting. Each source gets the given rates instead of its load,
    and records cost as much as at its start."""
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
