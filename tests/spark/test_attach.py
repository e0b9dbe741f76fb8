"""On a real cluster: an application's executors follow its load, and whatever goes wrong harms no query."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from rheostat.attachment import Attachment, attach
from rheostat.errors import ConfigError, PlantError
from rheostat.journal import Journal
from rheostat.policies.policy import Policy

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("idle_cluster")]


class Raising(Policy):
    """A policy with a defect."""

    def decide(self, observation):
        raise ZeroDivisionError("a defect")


@pytest.fixture
def work(spark, tmp_path) -> Iterator["Work"]:
    """A query of 100 rows/s in four tasks, each row at a cost that can be changed while it runs."""
    work = Work(spark, tmp_path)
    yield work
    work.stop()


class Work:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self._cost = folder / "cost_s"
        self._query: StreamingQuery | None = None

    def costs(self, seconds: float) -> None:
        self._cost.write_text(str(seconds))

    def start(self) -> StreamingQuery:
        path = str(self._cost)

        def serve(batches):
            import time

            with open(path) as file:
                cost_s = float(file.read())
            for batch in batches:
                time.sleep(cost_s * batch.num_rows)
                yield batch

        rows = self._spark.readStream.format("rate").option("rowsPerSecond", 100).option("numPartitions", 4).load()
        served = rows.mapInArrow(serve, rows.schema).writeStream.format("noop").queryName("work")
        place = str(self._folder / "checkpoint")
        self._query = served.trigger(processingTime="2 seconds").option("checkpointLocation", place).start()
        return self._query

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()


def manager_of(spark: SparkSession):
    return spark.sparkContext._jsc.sc().executorAllocationManager().get()


def living(attachment: Attachment) -> int:
    """Executors that serve, as the last turn saw them."""
    period = attachment.last
    if period is None or period.snapshot is None:
        return 0
    return sum(1 for _ in period.snapshot.active("application"))


def idle(attachment: Attachment) -> bool:
    """Whether there is an executor and, as the last turn saw it, nothing for it to do."""
    period = attachment.last
    return bool(living(attachment)) and "no streaming query is active" in period.snapshot.problems


def test_executors_follow_the_load_up_and_down(spark, work, eventually):
    with attach(spark, "5s/30s", "static", options={"executors": 1}, period="200ms") as attachment:
        eventually(lambda: living(attachment) == 1 or None, "one executor", 200)
    before = manager_of(spark)
    options = {"high": 0.75, "low": 0.6}
    with attach(spark, "5s/30s", max_executors=3, period="1s", options=options) as attachment:
        work.costs(0.03)
        work.start()
        eventually(lambda: living(attachment) == 3 or None, "three executors under load", 200)
        period = attachment.last
        assert period is not None
        assert period.snapshot is not None
        assert "work" in {stream.name for stream in period.snapshot.streams}
        assert any("estimated" in problem for problem in period.snapshot.problems)
        work.costs(0)
        eventually(lambda: living(attachment) < 3 or None, "fewer executors without load", 200)
        decided = [entry.decision for entry in attachment.journal.decisions()]
        assert {2, 3} <= {decision.executors for decision in decided}
        assert all("utilisation" in decision.reason for decision in decided)
    assert not attachment.attached
    assert not manager_of(spark).equals(before)
    attachment.detach()


def test_a_policy_that_fails_is_journalled_and_the_query_goes_on(spark, work, eventually, tmp_path):
    work.costs(0)
    query = work.start()
    path = tmp_path / "journal.db"
    attachment = attach(spark, "5s/30s", Raising, max_executors=2, period="200ms", journal=path)
    try:
        eventually(lambda: (attachment.last and attachment.last.problems) or None, "the problem")
        first = eventually(lambda: query.lastProgress, "a batch")
        eventually(lambda: query.lastProgress.batchId > first.batchId or None, "another batch")
        assert query.isActive
    finally:
        attachment.detach()
    with Journal(path, read_only=True) as journal:
        problems = [problem for _, problem in journal.problems() if problem.what]
    assert [(problem.place, problem.what) for problem in problems] == [("policy", "ZeroDivisionError: a defect")]


def test_without_a_query_nothing_is_changed_and_the_reason_is_told(spark, eventually):
    with attach(spark, "5s/30s", max_executors=2, period="200ms") as attachment:
        at_first = attachment.executors
        eventually(lambda: idle(attachment) or None, "a turn with an executor and without a query", 120)
        assert attachment.executors == at_first


def test_a_second_attachment_is_refused_and_the_first_goes_on(spark):
    with attach(spark, "5s/30s", dry_run=True) as attachment:
        with pytest.raises(PlantError, match="controlled by an attachment already"):
            attach(spark, "5s/30s")
        assert attachment.attached
    with attach(spark, "5s/30s", dry_run=True) as attachment:
        assert attachment.attached


def test_a_dry_run_leaves_sparks_own_allocation_alone(spark):
    before = manager_of(spark)
    with attach(spark, "5s/30s", dry_run=True):
        assert manager_of(spark).equals(before)
    assert manager_of(spark).equals(before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sla": "fast"}, "SLA latency 'fast'"),
        ({"sla": "5s/30s", "policy": "treshold"}, "did you mean 'threshold'"),
        ({"sla": "5s/30s", "options": {"higher": 1}}, "no option 'higher'"),
        ({"sla": "5s/30s", "min_executors": 3, "max_executors": 2}, "at least 3 but at most 2"),
        ({"sla": "5s/30s", "period": 0}, "period 0"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_changes(spark, arguments, message):
    before = manager_of(spark)
    with pytest.raises(ConfigError, match=message):
        attach(spark, **arguments)
    assert manager_of(spark).equals(before)


def test_spark_connect_is_refused_with_the_reason():
    with pytest.raises(PlantError, match="Spark Connect session, which has no control of executors"):
        attach(SimpleNamespace(version="4.3.0"), "5s/30s")


def test_a_local_session_is_refused_with_the_reason():
    session = SimpleNamespace(_jsparkSession=None, sparkContext=SimpleNamespace(master="local[4]"))
    with pytest.raises(PlantError, match=r"master 'local\[4\]' has no executors"):
        attach(session, "5s/30s")


PROGRAM_HEAD = """
import logging, sys, time
from pyspark.sql import SparkSession
from rheostat.attachment import attach

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(name)s %(message)s")
logging.getLogger("py4j").setLevel(logging.WARNING)
url, folder, *given = sys.argv[1:]
settings = {
    "spark.dynamicAllocation.enabled": "false", "spark.executor.cores": "1",
    "spark.executor.memory": "512m", "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true", "spark.authenticate.secret": sys.stdin.readline().strip(),
    **dict(setting.split("=") for setting in given),
}
spark = SparkSession.builder.master(url).appName("plain").config(map=settings).getOrCreate()
rows = spark.readStream.format("rate").load()
rows.writeStream.format("noop").option("checkpointLocation", folder).trigger(processingTime="1 second").start()

def serving(attachment):
    period = attachment.last
    return -1 if period is None or period.snapshot is None else sum(1 for _ in period.snapshot.active("application"))

def wait(condition, what):
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)
"""

HEALTHY = """
status = spark.sparkContext._jsc.sc().statusStore()
registered = lambda: status.executorList(True).size() - 1
before = registered()
with attach(spark, "5s/30s", "static", period="500ms") as attachment:
    seen = []
    end = time.monotonic() + 60
    while time.monotonic() < end and len(seen) < 200:
        seen.append(registered())
        if len(seen) > 60 and len(set(seen[-60:])) == 1 and seen[-1]:
            break
        time.sleep(0.1)
    print("SEEN", before, seen, attachment.executors, serving(attachment))
    assert seen == sorted(seen), "executors were released"
    assert not attachment.journal.decisions()
    print("EXECUTORS", registered(), attachment.executors)
print("LEFT", registered())
"""


def run_program(cluster, tmp_path, text, *settings):
    command = [sys.executable, "-c", PROGRAM_HEAD + text, cluster.master_url, str(tmp_path), *settings]
    done = subprocess.run(
        command, input=cluster.address.secret, capture_output=True, text=True, timeout=580, check=False
    )
    assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    "settings",
    [["spark.executor.instances=3", "spark.cores.max=3"], ["spark.executor.cores=2", "spark.cores.max=5"]],
    ids=["as many as were asked for", "as many as there are cores for"],
)
def test_executors_that_are_still_starting_stay(cluster, tmp_path, settings):
    """Attached right after `start`, before any has registered, with a policy that decides nothing."""
    out = run_program(cluster, tmp_path, HEALTHY, *settings)
    wanted = 3 if "spark.cores.max=3" in settings else 2
    assert f"EXECUTORS {wanted} {wanted}" in out
    assert f"LEFT {wanted}" in out


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_all_executors_that_spark_gives_stay_where_no_number_was_asked_for(cluster, tmp_path):
    out = run_program(cluster, tmp_path, HEALTHY, "spark.executor.cores=2")
    assert "EXECUTORS 4 4" in out


PROGRAM = """
with attach(spark, "5s/30s", "static", options={"executors": 2}, dry_run=True, period="500ms") as attachment:
    wait(lambda: serving(attachment) == 2, "both executors")
with attach(spark, "5s/30s", "static", options={"executors": 1}, period="500ms") as attachment:
    wait(lambda: serving(attachment) == 1 and not attachment.last.settling, "one executor")
with attach(spark, "5s/30s", "static", options={"executors": 3}, period="500ms") as attachment:
    wait(lambda: serving(attachment) == 2, "two executors again")
    wait(lambda: attachment.last.problems, "the obstacle")
    print("OBSTACLE", attachment.last.problems[0].what)
attachment = attach(spark, "5s/30s", period="500ms")
spark.stop()
wait(lambda: not attachment.attached, "the end with the application")
print("DONE")
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_application_without_dynamic_allocation_is_scaled_too_within_its_cores(cluster, tmp_path):
    out = run_program(cluster, tmp_path, PROGRAM, "spark.cores.max=2")
    assert "OBSTACLE 3 executors cannot be had: spark.cores.max allows 2" in out
    assert out.endswith("DONE\n")
