"""OSG benchmark: duration of a batch whose rows differ in cost on Spark, for different groupings of rows to tasks.

Run with `python -m bench.osg`. Values are drawn from Zipf 1.5 and cost 1 to 64 units in random order, emulated by
sleeping. Every round has one batch of the same rows for each grouping, in one run. All records of a micro-batch
complete with its last task: after the longest task plus the overhead of a batch. The aims: osg and batch-greedy below
round robin.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench._drain import drain

from rheostat.load.skew import zipf
from rheostat.spark.act.actuators.task_counts import group_rows
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.per_record.timings import Work
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.session import build_session
from rheostat.topology import Operator, Source, Topology

VALUES = 512
OPERATOR = "serve"
GROUPINGS = ("round-robin", "osg", "batch-greedy")
BASELINE = GROUPINGS[0]
WARM_UP = 4
WEIGHTS = zipf(VALUES, 1.5)
UNITS = np.random.default_rng(0).permutation(np.repeat(np.arange(1.0, 65.0), VALUES // 64))


def topology(folder: Path, mean_s: float) -> Topology:
    seconds = (UNITS * mean_s / float(WEIGHTS @ UNITS)).tolist()

    @per_record("value string", cost="value")
    def serve(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        time.sleep(seconds[int(record["value"])])
        yield record

    source = Source("values", reader=lambda session: session.readStream.text(str(folder)))
    return Topology("values", [source, Operator(OPERATOR, serve, inputs="values")])


class Batches:
    """Sends batches through a running topology and measures them."""

    def __init__(self, runtime: Runtime, folder: Path, tasks: int) -> None:
        self._runtime, self._folder, self._tasks = runtime, folder, tasks
        self._sent = 0

    def send(self, values: np.ndarray, grouping: str) -> tuple[float, float, float]:
        """The duration of a batch of `values`, the time of its longest task, and the ratio of that to the mean task."""
        group_rows(self._runtime, OPERATOR, grouping, self._tasks)
        before, last = self._work(), max((batch.batch for batch in self._runtime.batches(OPERATOR)), default=-1)
        draft = self._folder / f".{self._sent}"
        draft.write_text("".join(f"{value}\n" for value in values))
        draft.rename(self._folder / f"{self._sent:06d}.txt")
        self._sent += 1
        drain(self._runtime)
        busy_s = [now.minus(then).busy_s for now, then in zip(self._work(), before, strict=True)]
        return self._duration_s(last), max(busy_s), max(busy_s) / float(np.mean(busy_s))

    def _duration_s(self, last: int) -> float:
        """A batch is recorded a moment after its commit."""
        while not (batches := self._runtime.batches(OPERATOR, last)):
            time.sleep(0.05)
        return sum(batch.duration_s for batch in batches)

    def _work(self) -> list[Work]:
        timings = self._runtime.timings(OPERATOR)
        assert timings is not None
        return [timings.work(task) for task in range(self._tasks)]


def measured(batches: Batches, rounds: int, rows: int) -> dict[str, np.ndarray]:
    """The results of `Batches.send` for each grouping and round."""
    rng = np.random.default_rng(1)
    for _ in range(WARM_UP):
        batches.send(rng.choice(VALUES, rows, p=WEIGHTS), BASELINE)
    found: dict[str, list[tuple[float, float, float]]] = {grouping: [] for grouping in GROUPINGS}
    for number in range(rounds):
        values = rng.choice(VALUES, rows, p=WEIGHTS)
        for grouping in np.roll(GROUPINGS, number).tolist():
            found[grouping].append(batches.send(values, grouping))
    return {grouping: np.array(rows) for grouping, rows in found.items()}


def print_results(found: dict[str, np.ndarray]) -> None:
    print(f"{'':14}{'batch':>8}{'of round robin':>18}{'longest task':>15}{'of round robin':>18}{'over mean':>11}")
    for grouping, rows in found.items():
        batch_s, longest_s, over_mean = rows.mean(axis=0)
        batch, longest = (_ratio(rows[:, column], found[BASELINE][:, column]) for column in (0, 1))
        print(f"{grouping:14}{batch_s:6.2f} s{batch:>18}{longest_s:13.2f} s{longest:>18}{over_mean:11.3f}")


def _ratio(times_s: np.ndarray, baseline_s: np.ndarray) -> str:
    """The mean over rounds, and half the width of its 95 % confidence interval."""
    ratios = times_s / baseline_s
    return f"{ratios.mean():.3f} ± {1.96 * ratios.std(ddof=1) / np.sqrt(len(ratios)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=40, help="rows per batch")
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--mean", type=float, default=0.3, help="mean seconds per record")
    arguments = parser.parse_args()
    spark = build_session("osg", f"local[{arguments.tasks}]")
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            folder = Path(name) / "values"
            folder.mkdir()
            it = topology(folder, arguments.mean)
            with Runtime(it, spark, RunDirectory(Path(name) / "run", it)) as runtime:
                found = measured(Batches(runtime, folder, arguments.tasks), arguments.rounds, arguments.rows)
    finally:
        spark.stop()
    print(f"{arguments.rounds} rounds, batches of {arguments.rows} rows, {arguments.tasks} tasks")
    print_results(found)


if __name__ == "__main__":
    main()
