"""Calibration benchmark: one scenario on Spark and on the simulator that was calibrated by it.

Run with `python -m bench.calibration`. First the scenario is calibrated on Spark, then it runs there and on the
calibrated simulator under each policy. The aims: mean latency within 20 %, success rate within 5 points, mean executors
within 10 %. Results are kept in --out, so that steps can be run one by one: a policy that runs again counts with its
mean, and without steps the results are compared again.
"""

import argparse
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import msgspec

from rheostat.experiments.calibration.emulated_scenario import default_rates, measure_scenario
from rheostat.experiments.calibration.measurements import Measurements
from rheostat.experiments.calibration.plant_file import plant_file
from rheostat.experiments.calibration.plant_fit import fit_plant
from rheostat.experiments.calibration.spark_measurement import CalibrationSettings
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.comparison.simulated_run import run_on_simulator
from rheostat.experiments.on_spark.run import run_on_spark
from rheostat.experiments.on_spark.shared_cluster import shared_cluster
from rheostat.experiments.scenario import Scenario, read_scenario

SCENARIO = Path(__file__).with_name("calibration.toml")
POLICIES = ("drs", "streamswitch", "pa-sps")
CALIBRATE = "calibrate"
EXECUTORS = (1, 2, 4, 1, 3)
SEEDS = 20
LATENCY, SUCCESS, SIZE = 0.20, 0.05, 0.10


def calibrate(scenario: Scenario, out: Path, time_s: float) -> None:
    started_s = time.monotonic()
    settings = CalibrationSettings(EXECUTORS, default_rates(scenario), time_s)
    with shared_cluster() as cluster:
        measured = measure_scenario(
            scenario,
            settings,
            cluster=cluster.started(),
            progress=lambda what, share: print(f"{time.monotonic() - started_s:5.0f} s  {what}", flush=True),
        )
    (out / "measured.json").write_bytes(msgspec.json.encode(measured))


def fitted(path: Path, scenario: Scenario, out: Path) -> Scenario:
    """The scenario with the plant that was measured, by the present fit."""
    measured = msgspec.json.decode((out / "measured.json").read_bytes(), type=Measurements)
    topology = scenario.model.topology
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    text = plant_file(topology, fit_plant(topology, measured), content)
    (out / "plant.toml").write_text(text, encoding="utf-8")
    return read_scenario(out / "plant.toml")


def run(scenario: Scenario, policy: str, out: Path) -> None:
    with shared_cluster():
        result = run_on_spark(scenario, policy, {})
    number = len(list(out.glob(f"{policy}-*.json")))
    (out / f"{policy}-{number}.json").write_bytes(msgspec.json.encode(result))


class Figures(NamedTuple):
    """Means over runs, and the least and the most mean latency of one run."""

    latency_s: float
    success: float
    executors: float
    least_s: float
    most_s: float


def figures(runs: Sequence[ComparedRun]) -> Figures:
    latencies_s = [run.mean_latency_s or 0.0 for run in runs]
    success = mean(run.success_rate or 0.0 for run in runs)
    return Figures(mean(latencies_s), success, mean(r.mean_executors for r in runs), min(latencies_s), max(latencies_s))


def compare(policy: str, on_spark: Sequence[ComparedRun], simulated: Scenario, seeds: int) -> None:
    """Print both; a figure that does not agree is marked."""
    runs = [run_on_simulator(simulated, policy, {}, setting="default", seed=seed) for seed in range(seeds)]
    sim, spark = figures(runs), figures(on_spark)
    ratio, size_ratio = sim.latency_s / spark.latency_s, sim.executors / spark.executors
    apart = sim.success - spark.success
    agrees = [abs(ratio - 1) <= LATENCY, abs(apart) <= SUCCESS, abs(size_ratio - 1) <= SIZE]
    marks = ["" if each else " !" for each in agrees]
    print(
        f"{policy:14}{spark.latency_s:9.2f}{sim.latency_s:9.2f}{ratio:7.2f}{marks[0]:2}"
        f"{100 * spark.success:9.1f}{100 * sim.success:8.1f}{100 * apart:+8.1f}{marks[1]:2}"
        f"{spark.executors:9.2f}{sim.executors:8.2f}{size_ratio:7.2f}{marks[2]:2}"
        f"  {len(on_spark)} on Spark, {spark.least_s:.2f} to {spark.most_s:.2f} s"
        f"; {seeds} simulated, {sim.least_s:.2f} to {sim.most_s:.2f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", type=Path, default=SCENARIO)
    parser.add_argument("--out", type=Path, default=Path("bench-calibration"))
    parser.add_argument("--steps", nargs="*", default=(CALIBRATE, *POLICIES), choices=(CALIBRATE, *POLICIES))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="simulated runs of each policy")
    parser.add_argument("--time", type=float, default=12.0, help="seconds for each pair of executors and rate")
    arguments = parser.parse_args()
    scenario, out = read_scenario(arguments.scenario), arguments.out
    out.mkdir(parents=True, exist_ok=True)
    for step in arguments.steps:
        print(f"{step} on Spark ...", flush=True)
        if step == CALIBRATE:
            calibrate(scenario, out, arguments.time)
        else:
            run(scenario, step, out)
    if not (out / "measured.json").exists():
        return
    simulated = fitted(arguments.scenario, scenario, out)
    print((out / "plant.toml").read_text())
    print(f"{'':14}{'latency, s':^27}{'success, %':^27}{'executors':^26}")
    columns = (
        f"{'Spark':>9}{'sim':>9}{'ratio':>7}  {'Spark':>9}{'sim':>8}{'apart':>8}  {'Spark':>9}{'sim':>8}{'ratio':>7}"
    )
    print(f"{'':14}{columns}")
    for policy in POLICIES:
        paths = sorted(out.glob(f"{policy}-*.json"))
        if paths:
            measured = [msgspec.json.decode(path.read_bytes(), type=ComparedRun) for path in paths]
            compare(policy, measured, simulated, arguments.seeds)


if __name__ == "__main__":
    main()
