"""On a real broker: the load of a plain query that reads Kafka is that of the broker, also while a batch hangs."""

import time

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


def test_backlog_and_lag_are_the_brokers_while_a_batch_hangs(spark, new_topic, tmp_path, eventually):
    topic, gate = new_topic(2), tmp_path / "gate"
    topic.write(map(str, range(50)), partition=0)
    queries = StreamingQueries(spark)
    totals = QueryTotals(queries)
    options = topic.options | {"subscribe": topic.name, "maxOffsetsPerTrigger": "20"}
    query = hanging_query(spark, options, str(gate))
    try:

        def load(behind: int):
            totals.update()
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
        done = eventually(lambda: load(0), "a query without backlog")
        assert {each.partition: offset for each, offset in done.end.items()} == topic.end_offsets()
        eventually(lambda: (totals.update(), totals.completed == 57)[1] or None, "the reports of all batches")
        assert rows_between(done.committed, done.end) == 0
        assert (totals.arrived, totals.queued) == (57, 0)
    finally:
        gate.touch()
        query.stop()
        queries.close()
