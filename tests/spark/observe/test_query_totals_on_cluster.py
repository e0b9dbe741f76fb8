"""What queries have read is counted for sources of both of Spark's interfaces: files are of the first."""

import pytest

from rheostat.spark.observe.query_progress import StreamingQueries
from rheostat.spark.observe.query_totals import QueryTotals

pytestmark = pytest.mark.spark


def files(spark, folder):
    folder.mkdir()
    (folder / "first.json").write_text('{"value": 1}\n{"value": 2}\n{"value": 3}\n')
    return spark.readStream.schema("value long").json(str(folder))


def lumps(spark, folder):
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load().select("value")


def both(spark, folder):
    return files(spark, folder).union(lumps(spark, folder))


@pytest.mark.parametrize("source", [files, lumps, both])
def test_rows_of_any_source_are_counted(spark, tmp_path, eventually, source):
    queries = StreamingQueries(spark)
    totals = QueryTotals(queries)
    query = source(spark, tmp_path / "in").writeStream.format("noop").queryName("counted").start()
    try:
        eventually(lambda: (totals.update(), totals.completed >= 3)[1] or None, "the rows of the first batch")
        assert totals.arrived >= totals.completed
        assert totals.topic_loads == {}
    finally:
        query.stop()
        queries.close()
