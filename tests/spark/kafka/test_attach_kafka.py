"""On a real broker: the executors of a plain query follow the load that another process writes to its topic."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from rheostat.attachment import Attachment, attach
from rheostat.spark.kafka.local_broker import LocalBroker

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.usefixtures("idle_cluster"),
    pytest.mark.timeout(900),
]

PATIENCE_S = 240.0
PARTITIONS = 8
COST_S = 0.02
"""Of one record, in which its executor waits: two cores are enough for many executors."""

WARM_BATCHES = 6
LOW = 40.0
HIGH = 3 * LOW
SLA_S, WINDOW_S = 5.0, 20.0
SLA = f"{SLA_S}s/{WINDOW_S}s"


class Producer:
    """Kafka's own console producer, a process of its own, which is fed `rate` records a second until it is closed."""

    def __init__(self, broker: LocalBroker, topic: str, rate: float) -> None:
        properties = ("--property", "parse.key=true", "--property", "key.separator=:")
        address = ("--bootstrap-server", broker.address, "--topic", topic, "--timeout", "50")
        command = broker.command("org.apache.kafka.tools.ConsoleProducer", *address, *properties)
        self.written = 0
        self.change(rate)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        )
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._feed)
        self._thread.start()

    def change(self, rate: float) -> None:
        self.rate, self.changed_s = rate, time.time()

    def close(self) -> None:
        """Have it send what it has, and end."""
        self._closing.set()
        self._thread.join()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            assert self._process.wait(60) == 0
        finally:
            self._process.kill()

    def _feed(self) -> None:
        assert self._process.stdin is not None
        due, last_s = 0.0, time.monotonic()
        while not self._closing.wait(0.05):
            now_s = time.monotonic()
            due, last_s = due + self.rate * (now_s - last_s), now_s
            for number in range(self.written, int(due)):
                self._process.stdin.write(f"{number}:record\n")
            self._process.stdin.flush()
            self.written = int(due)


@pytest.fixture
def producer(broker) -> Iterator[Callable[[str, float], Producer]]:
    made: list[Producer] = []

    def start(topic: str, rate: float) -> Producer:
        made.append(Producer(broker, topic, rate))
        return made[-1]

    yield start
    for each in made:
        each.close()


def waiting_query(spark: SparkSession, options: Mapping[str, str], checkpoint: str):
    def serve(batches):
        import time

        for batch in batches:
            time.sleep(COST_S * batch.num_rows)
            yield batch

    rows = spark.readStream.format("kafka").options(**options).load()
    served = rows.mapInArrow(serve, rows.schema).writeStream.format("noop").queryName("served")
    return served.option("checkpointLocation", checkpoint).start()


def serving(attachment: Attachment) -> int:
    """Executors that serve, as the last turn saw them."""
    turn = attachment.last
    return 0 if turn is None or turn.snapshot is None else sum(1 for _ in turn.snapshot.active("application"))


def keeps_the_sla(attachment: Attachment) -> bool:
    """Whether neither the oldest record in the topic nor those of the last batch have waited for longer."""
    turn = attachment.last
    if turn is None or turn.snapshot is None or turn.snapshot.latency is None:
        return False
    oldest_s = turn.snapshot.operators["application"].oldest_s
    return max(turn.snapshot.latency.mean_s, oldest_s or 0.0) <= SLA_S


def is_steady(attachment: Attachment, load: Producer) -> bool:
    """Whether it keeps the SLA, and nothing was changed for longer than a window."""
    changes_s = [load.changed_s, *(decision.time_s for decision in attachment.journal.newest_decisions(1))]
    turn = attachment.last
    return turn is not None and turn.time_s > max(changes_s) + WINDOW_S and keeps_the_sla(attachment)


def has_caught_up(query: StreamingQuery, attachment: Attachment) -> bool:
    """Whether it has had some batches, and its backlog is not that of its start any more."""
    return (query.lastProgress or {}).get("batchId", 0) > WARM_BATCHES and keeps_the_sla(attachment)


def test_executors_follow_the_load_of_a_topic_that_another_process_writes(
    spark, new_topic, producer, eventually, tmp_path
):
    topic = new_topic(PARTITIONS)
    load = producer(topic.name, LOW)
    options = topic.options | {"subscribe": topic.name, "startingOffsets": "earliest"}
    query = waiting_query(spark, options, str(tmp_path / "checkpoint"))
    try:
        with attach(spark, SLA, "static", options={"executors": 2}, period="1s") as attached:
            eventually(lambda: has_caught_up(query, attached) or None, "a query that is warm", PATIENCE_S)
        with attach(spark, SLA, max_executors=8, period="1s", journal=tmp_path / "journal.db") as attached:
            eventually(lambda: is_steady(attached, load) or None, "the SLA at the low load", PATIENCE_S)
            few = serving(attached)
            load.change(HIGH)
            eventually(lambda: serving(attached) > few or None, "more executors for three times the load", PATIENCE_S)
            eventually(lambda: is_steady(attached, load) or None, "the SLA at three times the load", PATIENCE_S)
            many = serving(attached)
            load.change(LOW)
            eventually(lambda: serving(attached) < many or None, "fewer executors for less load", PATIENCE_S)
            eventually(lambda: is_steady(attached, load) or None, "the SLA at the low load again", PATIENCE_S)
            load.change(0.0)
            ends = eventually(lambda: ends_without_backlog(attached), "an empty topic", PATIENCE_S)
            assert ends == topic.end_offsets(), "as the broker's own tool says"
            assert sum(ends.values()) == load.written
            assert query.isActive
    finally:
        query.stop()


def ends_without_backlog(attachment: Attachment) -> dict[int, int] | None:
    """Where the partitions end, once nothing waits in them."""
    turn = attachment.last
    assert turn is not None
    assert turn.snapshot is not None
    partitions = turn.snapshot.partitions_of("application")
    return None if any(each.queued for each in partitions) else {each.number: each.end for each in partitions}
