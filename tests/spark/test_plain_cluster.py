"""A standalone cluster as Spark's own scripts start it: no helpers, no secret, default settings.

A topology is submitted to it with `rheostat run --master`, and a driver that attaches itself with `spark-submit`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet
import pytest

from rheostat.journal import Journal
from rheostat.spark.install.spark_home import neutral_environment, spark_home

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

WORKERS = 2
SLOTS = 3
START_TIMEOUT_S = 90.0
RUN_TIMEOUT_S = 240.0

FILES = 12
ROWS_PER_FILE = 40
SENSORS = 7

TOPOLOGY = """
from pyspark.sql import functions as sf
from rheostat import Operator, Source, Topology

def readings(spark):
    return spark.readStream.schema("sensor long, value double").option("maxFilesPerTrigger", 4).json({inbox!r})

def celsius(df):
    return df.where("value >= 0").selectExpr("sensor", "value * 0.5 - 32 AS celsius")

def summary(df):
    return df.groupBy("sensor").agg(sf.count("*").alias("rows"), sf.sum("celsius").alias("total"))

topology = Topology("sensors", [
    Source("readings", reader=readings),
    Operator("celsius", celsius, inputs="readings"),
    Operator("summary", summary, inputs="celsius", key="sensor", substreams=4),
])
"""

ATTACHED = """
import json, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
import rheostat

spark = SparkSession.builder.appName("attached").config("spark.sql.shuffle.partitions", 4).getOrCreate()
rows = spark.readStream.schema("sensor long, value double").option("maxFilesPerTrigger", 2).json({inbox!r})
query = (
    rows.groupBy("sensor").count().writeStream.outputMode("complete").format("memory").queryName("counts")
    .option("checkpointLocation", {checkpoint!r}).start()
)
attachment = rheostat.attach(spark, sla="5s/30s", policy="static", period="1s")
seen, present, ended = [], spark.sparkContext._jsc.sc().getExecutorMemoryStatus, threading.Event()

def look():
    while not ended.wait(0.2):
        seen.append(present().size() - 1)  # the driver is in that map too

watch = threading.Thread(target=look)
watch.start()
Path({attached!r}).touch()
query.processAllAvailable()
time.sleep({seconds})
ended.set()
watch.join()
report = {{
    "executors": seen,
    "wanted": attachment.executors,
    "decisions": len(attachment.journal.decisions()),
    "counts": {{row["sensor"]: row["count"] for row in spark.table("counts").collect()}},
}}
attachment.detach()
query.stop()
spark.stop()
Path({report!r}).write_text(json.dumps(report))
"""


class Row(NamedTuple):
    """A reading as it is in the files."""

    sensor: int
    value: float


class Ended(NamedTuple):
    """The exit status of an application, and what it printed."""

    status: int
    output: str


class PlainCluster:
    """A master and workers, each a process group of its own. All of them end with `ending`."""

    def __init__(self, folder: Path, ending: ExitStack) -> None:
        self._folder, self._ending = folder, ending
        own = {"PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(folder / "no-settings")}
        self.environment = neutral_environment() | own
        master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        _, self.url = self._start("master", master, re.compile(r"Starting Spark master at (spark://\S+)"))
        self._workers = []
        for number in range(WORKERS):
            name = f"worker-{number}"
            sized = ["-c", str(SLOTS), "-m", f"{SLOTS + 1}g", "-d", str(folder / name), "--host", "127.0.0.1"]
            command = ["org.apache.spark.deploy.worker.Worker", *sized, "--webui-port", "0", self.url]
            worker, _ = self._start(name, command, re.compile(r"(Successfully registered) with master"))
            self._workers.append(worker)

    def run(self, name: str, *command: str, terminate_when: Callable[[], bool] = lambda: False) -> "Ended":
        """Run an application to its end, or until it has ended after SIGTERM. Its output is kept in a log."""
        with group(self._folder / f"{name}.log", command, self.environment) as process:
            end_s = time.monotonic() + RUN_TIMEOUT_S
            while process.poll() is None and not terminate_when():
                assert time.monotonic() < end_s, (self._folder / f"{name}.log").read_text(errors="replace")
                time.sleep(0.2)
            if process.poll() is None:
                process.terminate()
            status = process.wait(RUN_TIMEOUT_S)
        return Ended(status, (self._folder / f"{name}.log").read_text(errors="replace"))

    @contextmanager
    def suspended_until(self, file: Path) -> Iterator[None]:
        """No executor starts until `file` is there: the workers are suspended."""
        resume = threading.Thread(target=self._resume_at, args=(file, ended := threading.Event()))
        self._signal_workers(signal.SIGSTOP)
        resume.start()
        try:
            yield
        finally:
            ended.set()
            resume.join()

    def _resume_at(self, file: Path, ended: threading.Event) -> None:
        while not file.exists() and not ended.wait(0.1):
            pass
        self._signal_workers(signal.SIGCONT)

    def _signal_workers(self, number: signal.Signals) -> None:
        for worker in self._workers:
            worker.send_signal(number)

    def _start(self, name: str, command: list[str], ready: re.Pattern[str]) -> tuple["subprocess.Popen[bytes]", str]:
        log = self._folder / f"{name}.log"
        script = str(spark_home() / "bin" / "spark-class")
        process = self._ending.enter_context(group(log, (script, *command), self.environment))
        end_s = time.monotonic() + START_TIMEOUT_S
        while (found := ready.search(log.read_text(errors="replace"))) is None:
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < end_s, f"{name} did not start: {log.read_text(errors='replace')}"
            time.sleep(0.1)
        return process, found[1]


@contextmanager
def group(log: Path, command: tuple[str, ...], environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that leads a group of its own, which is gone when the block ends, however that happens."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, process_group=0
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainCluster]:
    with ExitStack() as ending:
        yield PlainCluster(tmp_path_factory.mktemp("plain"), ending)


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    """What the source has, from the beginning."""
    made = []
    (tmp_path / "inbox").mkdir()
    for number in range(FILES):
        chunk = [Row((number * i) % SENSORS, float(i % 50 - 5)) for i in range(ROWS_PER_FILE)]
        (tmp_path / "inbox" / f"{number:03d}.json").write_text("\n".join(json.dumps(row._asdict()) for row in chunk))
        made += chunk
    return made


def batch_job(rows: list[Row]) -> dict[int, tuple[int, float]]:
    """What the topology computes, over all rows at once."""
    kept: defaultdict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row.value >= 0:
            kept[row.sensor].append(row.value * 0.5 - 32)
    return {sensor: (len(values), pytest.approx(sum(values))) for sensor, values in kept.items()}


def results(folder: Path) -> dict[int, tuple[int, float]]:
    """The newest row of each sensor. None may be there twice in a batch, nor have fewer rows than before."""
    newest: dict[int, tuple[int, float]] = {}
    for row in sorted(pyarrow.parquet.read_table(folder).to_pylist(), key=lambda row: int(row["batch"])):
        assert row["rows"] > newest.get(row["sensor"], (0, 0.0))[0]
        newest[row["sensor"]] = (row["rows"], row["total"])
    return newest


def submit_topology(
    plain: PlainCluster, folder: Path, duration: str, terminate_when: Callable[[], bool] = lambda: False
) -> Ended:
    """Run the topology with `rheostat run`, in the directory `run` of `folder`."""
    (folder / "app.py").write_text(TOPOLOGY.format(inbox=str(folder / "inbox")))
    command = [sys.executable, "-c", "from rheostat.cli import main; main()", "run", str(folder / "app.py")]
    options = ["--master", plain.url, "--sla", "5s/30s", "--for", duration, "--dir", str(folder / "run")]
    return plain.run(f"run-{duration}", *command, *options, terminate_when=terminate_when)


def completed(directory: Path) -> dict[str, int | None]:
    """The rows that each operator has completed, as the journal says."""
    with Journal(directory / "journal.db", read_only=True) as journal:
        (last,) = journal.last_recorded(1)
    return {state.name: state.completed for state in last.snapshot.operator_states}


@pytest.mark.slow
def test_a_topology_runs_on_it_and_its_results_are_those_of_a_batch_job(plain, rows, tmp_path):
    ended = submit_topology(plain, tmp_path, "60s")
    assert ended.status == 0, ended.output
    assert results(tmp_path / "run" / "results" / "summary") == batch_job(rows)
    assert completed(tmp_path / "run") == {"celsius": len(rows), "summary": sum(row.value >= 0 for row in rows)}


@pytest.mark.slow
def test_a_topology_that_is_terminated_when_it_is_done_has_exact_results(plain, rows, tmp_path):
    found, expected = tmp_path / "run" / "results" / "summary", batch_job(rows)

    def is_done() -> bool:
        try:
            return results(found) == expected
        except (OSError, pyarrow.ArrowInvalid):  # nothing is there yet, or it is being written
            return False

    ended = submit_topology(plain, tmp_path, "4m", terminate_when=is_done)
    assert ended.status == 128 + signal.SIGTERM, ended.output
    assert results(found) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "granted"),
    [
        pytest.param([], WORKERS, id="default"),
        pytest.param(["--conf", "spark.executor.cores=1", "--total-executor-cores", "3"], 3, id="three"),
    ],
)
def test_an_attached_driver_keeps_its_executors_until_a_decision(plain, rows, tmp_path, settings, granted):
    names = ("inbox", "checkpoint", "attached", "report")
    script = tmp_path / "driver.py"
    script.write_text(ATTACHED.format(**{name: str(tmp_path / name) for name in names}, seconds=10))
    submit = [str(spark_home() / "bin" / "spark-submit"), "--master", plain.url, *settings, str(script)]
    with plain.suspended_until(tmp_path / "attached"):
        ended = plain.run(f"submit-{granted}", *submit)
    assert ended.status == 0, ended.output
    told = json.loads((tmp_path / "report").read_text())
    assert told["executors"] == sorted(told["executors"])
    assert told["executors"][-1] == told["wanted"] == granted
    assert told["decisions"] == 0
    assert told["counts"] == {str(s): sum(row.sensor == s for row in rows) for s in {row.sensor for row in rows}}
