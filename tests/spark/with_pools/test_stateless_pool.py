"""A stateless operator in a pool that shrinks, loses an executor and grows, in the middle of batches."""

import pytest

from rheostat.decision import Scale
from rheostat.spark.query.grouping.row_groupings import Evenly

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


def test_no_row_is_lost_or_doubled_while_a_stateless_pool_changes(pair, eventually):
    eventually(pair.reached, "two executors", 240)
    pair.start(lambda df: df.repartition(4).selectExpr("key", "2 * value"), "append")
    pair.run()
    assert set(pair.ran_on().values()) == {pair.spark_id(0), pair.spark_id(1)}
    leaving = pair.spark_id(1)
    pair.feed(5)
    pair.want(pair.plan.after(Scale(pool="double", executors=1, reason="test")))
    eventually(pair.reached, "the removal", 120)
    pair.run()
    assert set(pair.ran_on().values()) == {pair.spark_id(0)}
    assert leaving not in pair.ran_on().values()
    pair.feed(5)
    pair.kill_9(0)
    pair.want(pair.plan.after(Scale(pool="double", executors=2, reason="test")))
    pair.run()
    eventually(pair.reached, "two again", 240)
    pair.run()
    assert pair.result() == sorted((row["key"], 2 * row["value"]) for row in pair.fed())
    assert pair.runtime.groupings[-1] == ("double", Evenly(2))
