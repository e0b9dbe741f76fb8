"""On a real cluster: one attachment serves a stateful query, one with `foreachBatch` and one that ends by itself."""

import pytest
from pyspark.sql import functions
from pyspark.sql.functions import col

from rheostat.attachment import attach

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("idle_cluster")]

ROWS = 4_000


def costly(cost_file):
    """Each row takes as long as the file says."""

    def serve(batches):
        import time
        from pathlib import Path

        for batch in batches:
            time.sleep(float(Path(cost_file).read_text()) * batch.num_rows)
            yield batch

    return serve


def test_slas_by_name_are_kept_for_stateful_queries_foreach_batch_and_available_now(spark, eventually, tmp_path):
    cost = tmp_path / "cost_s"
    cost.write_text("0")
    spark.range(ROWS).withColumn("key", col("id") % 7).write.parquet(str(tmp_path / "input"))
    seen: list[int] = []

    def rows():
        return spark.readStream.format("rate").option("rowsPerSecond", 60).option("numPartitions", 4).load()

    def started(stream, name):
        return stream.queryName(name).option("checkpointLocation", str(tmp_path / name)).start()

    counts = rows().groupBy((col("value") % 5).alias("key")).count().writeStream.outputMode("update").format("noop")
    served = rows().mapInArrow(costly(str(cost)), rows().schema).writeStream
    files = spark.readStream.schema("id long, key long").parquet(str(tmp_path / "input")).groupBy("key").count()
    once = files.writeStream.outputMode("complete").format("memory").trigger(availableNow=True)
    slas = {"served": "5s/20s", "counts": "20s/40s"}
    with attach(spark, slas, min_executors=1, max_executors=3, period="1s") as attachment:
        queries = [
            started(counts, "counts"),
            started(served.foreachBatch(lambda batch, _: seen.append(batch.count())), "served"),
        ]
        try:
            eventually(lambda: attachment.last and attachment.last.snapshot.latency, "a latency", 120)
            ends = started(once, "once")
            ends.awaitTermination(120)
            assert spark.table("once").agg(functions.sum("count")).first()[0] == ROWS
            cost.write_text("0.04")
            eventually(lambda: attachment.executors > 1 or None, "more executors for the costly query", 120)
            decided = [entry.decision for entry in attachment.journal.decisions()]
            assert any("SLA 5s" in decision.reason for decision in decided if decision.executors > 1)
            assert all(query.isActive for query in queries)
            assert sum(seen) > 0
        finally:
            for query in queries:
                query.stop()
