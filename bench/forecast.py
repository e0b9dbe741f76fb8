"""Forecast benchmark: time to fit a model and predict 30 steps from 100 samples.

Run with `python -m bench.forecast`. The aims are under 1 ms for light models and under 50 ms for the neural network.
Processor time, the minimum of several rounds, so that other work on the machine matters little. The import of
scikit-learn (seconds, once, for the forest) is not counted.
"""

import math
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat.forecast import MODELS, Forecaster, make_model
from rheostat.forecast.model import Floats

SAMPLES, HORIZON = 100, 30
ROUNDS = 7
AIMS_S = {"ann": 0.050, "select": math.inf}
LIGHT_AIM_S = 0.001


def main() -> None:
    table = Table(title=f"{SAMPLES} samples, {HORIZON} steps: one forecast with its bounds")
    for column in ("model", "ms", "aim", "met"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name, model in MODELS.items():
        aim_s = AIMS_S.get(name, LIGHT_AIM_S if model.light else math.inf)
        took_s = least_time_s(Forecaster(make_model(name)), repetitions=100 if model.light else 5)
        aim = "–" if math.isinf(aim_s) else f"{1e3 * aim_s:g}"
        table.add_row(name, f"{1e3 * took_s:.3f}", aim, "" if aim == "–" else "yes" if took_s < aim_s else "no")
    Console().print(table)


def least_time_s(forecaster: Forecaster, repetitions: int) -> float:
    """Processor time of one forecast in seconds, the minimum of several rounds."""
    samples = waves()
    forecaster.forecast(samples, HORIZON)
    return min(round_s(forecaster, samples, repetitions) for _ in range(ROUNDS))


def round_s(forecaster: Forecaster, samples: Floats, repetitions: int) -> float:
    start_s = process_time()
    for _ in range(repetitions):
        forecaster.forecast(samples, HORIZON)
    return (process_time() - start_s) / repetitions


def waves() -> Floats:
    """A rising trend with a season of 25 samples and noise."""
    moments = np.arange(SAMPLES)
    noise = np.random.default_rng(0).normal(0, 5, SAMPLES)
    return np.asarray(100 + 0.5 * moments + 50 * np.sin(2 * np.pi * moments / 25) + noise)


if __name__ == "__main__":
    main()
