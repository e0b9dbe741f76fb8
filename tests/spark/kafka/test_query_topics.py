"""On a real broker: the load of a plain query that reads Kafka is that of the broker, also while a batch hangs."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from rheostat.spark.kafka.broker_client import rows_between
from rheostat.spark.observe.query_progress import StreamingQueries
from rheostat.spark.observe.query_totals import QueryTotals

pytestmark = pytest.mark.spark


def hanging_query(spark: SparkSession, options: dict[str, str], gate: str):
    """A query whose tasks wait as long as the file `gate` is not there."""

    def wait_at_the_gate(batches):
        import os
        import time

        while not os.path.exists(gate):
            time.sleep(0.05)
        yield from batches

    rows = spark.readStream.format("kafka").options(**options).option("startingOffsets", "earliest").load()
    return rows.mapInArrow(wait_at_the_gate, rows.schema).writeStream.format("noop").queryName("hanging").start()


@pytest.mark.timeout(500)
def test_backlog_and_lag_are_the_brokers_while_a_batch_hangs(spark, new_topic, tmp_path, eventually):
    topic, gate = new_topic(2), tmp_path / "gate"
    topic.write(map(str, range(50)), partition=0)
    queries = StreamingQueries(spark)
    totals = QueryTotals(queries)
    options = topic.options | {"subscribe": topic.name, "maxOffsetsPerTrigger": "20"}
    query = hanging_query(spark, options, str(gate))
    loop = ThreadPoolExecutor(1)  # with a thread of its own, which has no session of Spark's
    try:

        def load(behind: int):
            loop.submit(totals.update).result()
            found = totals.topic_loads.get("hanging")
            return found if found is not None and found.behind == behind else None

        first = eventually(lambda: load(50), "the backlog of a query that has finished no batch")
        assert first.under_way == 20
        began_s = time.time()
        topic.write(map(str, range(7)), partition=1)
        eventually(lambda: load(57), "what has arrived since the batch began")
        assert totals.queued == totals.arrived == 57
        assert totals.completed == 0
        assert totals.oldest_s is not None
        assert totals.oldest_s >= time.time() - began_s, "the first records wait for longer than the last ones"
        assert any(
            "takes at most 20 records in a batch (maxOffsetsPerTrigger) of the 57" in p for p in totals.problems()
        )
        gate.touch()
        # Each of the three batches may wait a minute for an executor that has left: so the session is set for pools.
        done = eventually(lambda: load(0), "a query without backlog", 240.0)
        assert {each.partition: offset for each, offset in done.end.items()} == topic.end_offsets()
        eventually(lambda: (totals.update(), totals.completed == 57)[1] or None, "the reports of all batches")
        assert rows_between(done.committed, done.end) == 0
        assert (totals.arrived, totals.queued) == (57, 0)
    finally:
        gate.touch()
        query.stop()
        queries.close()
        loop.shutdown()


def failing_query(spark: SparkSession, options: dict[str, str], checkpoint: str):
    """A query that fails at the record `bad`."""

    def fail_at_the_bad(batches):
        for batch in batches:
            if b"bad" in batch.column("value").to_pylist():
                raise ValueError("a bad record")
            yield batch

    rows = spark.readStream.format("kafka").options(**options).option("startingOffsets", "earliest").load()
    served = rows.mapInArrow(fail_at_the_bad, rows.schema).writeStream.format("noop").queryName("failing")
    return served.option("checkpointLocation", checkpoint).start()


def test_backlog_and_lag_are_known_while_a_query_is_down(spark, new_topic, tmp_path, eventually):
    topic = new_topic(1)
    topic.write(["good"] * 3)
    queries = StreamingQueries(spark)
    totals = QueryTotals(queries)

    def update() -> QueryTotals:
        totals.update()
        return totals

    query = failing_query(spark, topic.options | {"subscribe": topic.name}, str(tmp_path / "checkpoint"))
    try:
        eventually(lambda: update().completed == 3 or None, "the first records")
        topic.write(["bad"])
        eventually(lambda: [p for p in update().problems() if "failed" in p] or None, "a query that failed")
        topic.write(["good"] * 4)
        told = eventually(lambda: [p for p in update().problems() if "; 5 records wait" in p] or None, "all that wait")
        assert "query 'failing' failed:" in told[0]
        assert totals.topic_loads["failing"].oldest_s > 0
        topic.write(["good"])
        eventually(lambda: [p for p in update().problems() if "; 6 records wait" in p] or None, "one more")
        assert totals.arrived == 4, "since it is down nothing counts for the executors"
    finally:
        query.stop()
        queries.close()
