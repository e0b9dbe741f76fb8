"""Calibration benchmark: one scenario on Spark and on the simulator that was calibrated by it.

Run with `python -m bench.calibration`. First the scenario is calibrated on Spark, then it runs there and on the
calibrated simulator under each policy. The aims: mean latency within 20 %, success rate within 5 points, mean executors
within 10 %. Results are kept in --out, so that steps can be run one by one; without Spark they are compared again.
"""

import argparse
import time
import tomllib
from pathlib import Path
from statistics import mean

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
    (out / f"{policy}.json").write_bytes(msgspec.json.encode(result))


def compare(policy: str, spark: ComparedRun, simulated: Scenario, seeds: int) -> None:
    """Print both; a figure that does not agree is marked."""
    runs = [run_on_simulator(simulated, policy, {}, setting="default", seed=seed) for seed in range(seeds)]
    latency_s = mean(each.mean_latency_s or 0.0 for each in runs)
    success = mean(each.success_rate or 0.0 for each in runs)
    size = mean(each.mean_executors for each in runs)
    ratio, size_ratio = latency_s / (spark.mean_latency_s or 1.0), size / spark.mean_executors
    apart = success - (spark.success_rate or 0.0)
    agrees = [abs(ratio - 1) <= LATENCY, abs(apart) <= SUCCESS, abs(size_ratio - 1) <= SIZE]
    marks = ["" if each else " !" for each in agrees]
    print(
        f"{policy:14}{spark.mean_latency_s or 0:9.2f}{latency_s:9.2f}{ratio:7.2f}{marks[0]:2}"
        f"{100 * (spark.success_rate or 0):9.1f}{100 * success:8.1f}{100 * apart:+8.1f}{marks[1]:2}"
        f"{spark.mean_executors:9.2f}{size:8.2f}{size_ratio:7.2f}{marks[2]:2}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", type=Path, default=SCENARIO)
    parser.add_argument("--out", type=Path, default=Path("bench-calibration"))
    parser.add_argument("--steps", nargs="*", default=(CALIBRATE, *POLICIES), choices=(CALIBRATE, *POLICIES))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="simulated runs of each policy")
    parser.add_argument("--time", type=float, default=12.0, help="seconds for each pair of executors and rate")
    arguments, _ = parser.parse_known_args()
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
    print(f"{'':14}{columns}{'Spark':>9}{'sim':>8}{'ratio':>7}")
    for policy in POLICIES:
        path = out / f"{policy}.json"
        if path.exists():
            measured = msgspec.json.decode(path.read_bytes(), type=ComparedRun)
            compare(policy, measured, simulated, arguments.seeds)


if __name__ == "__main__":
    main()
