"""On a real cluster: an application's executors follow its load, and whatever goes wrong harms no query."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from rheostat.attachment import Attachment, attach
from rheostat.errors import ConfigError, PlantError
from rheostat.journal import Journal
from rheostat.loop.turn import WORKS_AGAIN
from rheostat.policies.policy import Policy
from rheostat.policies.registry import DEFAULT_POLICY

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


@pytest.mark.slow
def test_executors_follow_the_load_up_and_down(spark, work, eventually):
    with attach(spark, "5s/30s", "static", options={"executors": 1}, period="200ms") as attachment:
        eventually(lambda: living(attachment) == 1 or None, "one executor", 200)
    before = manager_of(spark)
    options = {"high": 0.75, "low": 0.6}
    with attach(spark, "5s/30s", "threshold", max_executors=3, period="1s", options=options) as attachment:
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


def test_without_a_policy_the_sla_decides(spark):
    with attach(spark, "5s/30s", max_executors=3, period="1s") as attachment:
        [run] = attachment.journal.runs().values()
    assert run.policy == DEFAULT_POLICY


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
        problems = [problem for _, problem in journal.problems() if problem.what != WORKS_AGAIN]
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


def test_an_attachment_has_a_page(spark):
    with attach(spark, "5s/30s", dry_run=True, dashboard="127.0.0.1:0") as attachment:
        opening = httpx.get(f"{attachment.dashboard.url}api/run").json()
    assert opening["controls"] == {"paused": False, "dry_run": True, "finished": False, "steerable": True}
    assert opening["run"]["goals"][0]["slas"] == ["5s over 30s"]
    with pytest.raises(httpx.ConnectError):
        httpx.get(attachment.dashboard.url)


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
        ({"sla": "5s/30s", "period": None}, "period None is not a duration"),
        ({"sla": 5}, 'sla 5 is no SLA: write latency and window like "5s/30s"'),
        ({"sla": None}, "sla None is no SLA"),
        ({"sla": "5s/30s", "policy": 5}, "policy 5 cannot be used: it is not derived from rheostat.Policy"),
        (
            {"sla": "5s/30s", "options": ["high"]},
            r"options \['high'\] are no mapping: give the policy's options by name",
        ),
        ({"sla": "5s/30s", "max_executors": "3"}, "max_executors '3' must be a whole number >= 1"),
        ({"sla": "5s/30s", "journal": 5}, "journal 5 is no journal: give the path of a file"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_changes(spark, arguments, message):
    before = manager_of(spark)
    with pytest.raises(ConfigError, match=message):
        attach(spark, **arguments)
    assert manager_of(spark).equals(before)


def test_what_is_no_session_is_refused_by_its_name(spark):
    for wrong in (None, 5, spark.sparkContext):
        with pytest.raises(ConfigError, match=f"{re.escape(repr(wrong))} is no Spark session: give the SparkSession"):
            attach(wrong, "5s/30s")


def test_spark_connect_is_refused_with_the_reason():
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(PlantError, match="Spark Connect session, which has no control of executors"):
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

def start_query():
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
    start_query()
    seen = []
    end = time.monotonic() + 60
    while time.monotonic() < end:
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


LOCAL = """
import logging, sys, time
from pyspark.sql import SparkSession
from rheostat.attachment import attach
from rheostat.errors import PlantError

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(name)s %(message)s")
logging.getLogger("py4j").setLevel(logging.WARNING)
spark = SparkSession.builder.master("local[2]").appName("laptop").config("spark.ui.enabled", "false").getOrCreate()

def serve(batches):
    for batch in batches:
        time.sleep(0.04 * batch.num_rows)
        yield batch

rows = spark.readStream.format("rate").option("rowsPerSecond", 100).option("numPartitions", 2).load()
query = rows.mapInArrow(serve, rows.schema).writeStream.format("noop").option("checkpointLocation", sys.argv[1]).start()
with attach(spark, "2s/10s", "threshold", max_executors=8, period="1s") as attachment:
    end = time.monotonic() + 90
    while attachment.recommended != 2:
        assert time.monotonic() < end, repr(attachment)
        time.sleep(0.2)
    print("EXECUTORS", attachment.executors, "RECOMMENDED", attachment.recommended)
    print(attachment)
    print(attachment._repr_html_())
    assert query.isActive
query.stop()
spark.stop()
try:
    attach(spark, "5s/30s")
except PlantError as error:
    print("STOPPED:", error)
"""


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_on_a_local_master_it_is_a_dry_run_that_measures_and_recommends(tmp_path):
    command = [sys.executable, "-c", LOCAL, str(tmp_path / "checkpoint")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-3000:])
    out = done.stdout
    assert "INFO rheostat master 'local[2]' has one process, which counts as one executor: a dry run" in out
    assert "EXECUTORS 1 RECOMMENDED 2" in out
    assert "INFO rheostat would scale to 2 executors: utilisation" in out
    assert "executors  1, 2 recommended" in out
    assert "<svg" in out
    assert "STOPPED: the session of application 'laptop' is stopped: attach to one that runs" in out


def run_program(cluster, tmp_path, text, *settings):
    command = [sys.executable, "-c", PROGRAM_HEAD + text, cluster.master_url, str(tmp_path), *settings]
    done = subprocess.run(
        command, input=cluster.address.secret, capture_output=True, text=True, timeout=580, check=False
    )
    assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


SLOW_TO_START = "spark.executor.extraJavaOptions=-Xint"
"""Executors without a compiler need some seconds more until they register."""


@pytest.mark.timeout(200)
def test_executors_that_are_still_starting_stay(cluster, tmp_path):
    """Attached as soon as the session is there, before any has registered, with a policy that decides nothing."""
    settings = ["spark.executor.instances=3", "spark.cores.max=3", SLOW_TO_START]
    out = run_program(cluster, tmp_path, HEALTHY, *settings)
    assert "INFO rheostat attached to 'plain' with policy 'static' for 5s over 30s: 3 executors, 3 of them" in out
    assert "EXECUTORS 3 3" in out
    assert "INFO rheostat detached from 'plain': 3 executors" in out
    assert "LEFT 3" in out


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_all_executors_that_spark_gives_stay_where_no_number_was_asked_for(cluster, tmp_path):
    out = run_program(cluster, tmp_path, HEALTHY, "spark.executor.cores=2")
    assert re.search(r"EXECUTORS ([1-4]) \1\n", out), "other applications have the rest of the cluster"


PROGRAM = """
start_query()
with attach(spark, "5s/30s", "static", options={"executors": 2}, dry_run=True, period="500ms") as attachment:
    wait(lambda: serving(attachment) == 2, "both executors")
with attach(spark, "5s/30s", "static", options={"executors": 1}, period="500ms") as attachment:
    wait(lambda: serving(attachment) == 1 and not attachment.last.settling, "one executor")
with attach(spark, "5s/30s", "static", options={"executors": 2}, period="500ms") as attachment:
    wait(lambda: serving(attachment) == 2, "two executors again")
with attach(spark, "5s/30s", "static", options={"executors": 3}, period="500ms") as attachment:
    room = lambda: [each.decision.reason for each in attachment.last.verdicts if "room" in each.decision.reason]
    wait(lambda: attachment.last and room(), "the reason")
    print("HELD", room()[0])
attachment = attach(spark, "5s/30s", period="500ms")
spark.stop()
wait(lambda: not attachment.attached, "the end with the application")
print("DONE")
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_application_without_dynamic_allocation_is_scaled_too_within_its_cores(cluster, tmp_path):
    out = run_program(cluster, tmp_path, PROGRAM, "spark.cores.max=2")
    assert "HELD 3 executors configured, budget and cluster have room for 2: hold at 2" in out
    assert out.endswith("DONE\n")
