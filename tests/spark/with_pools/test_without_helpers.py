"""What is left when the JVM helpers are not to be had: pools and moves, but no standbys."""

import pytest
from pyspark.sql import functions as sf

from rheostat.decision import Scale
from rheostat.plan import Plan
from rheostat.spark.act.actuators.state_location import StateLocation
from rheostat.spark.install import jvm_helpers
from rheostat.topology import Operator, Source, Topology

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

KEYED = Topology("keyed", [Source("rows"), Operator("count", inputs="rows", key="key", substreams=4)])


def test_pools_change_and_substreams_move_by_plain_spark_alone(pipelines, eventually, monkeypatch, caplog):
    monkeypatch.setattr(jvm_helpers, "is_loaded", lambda jvm: False)
    pipeline = pipelines(KEYED, Plan.initial(KEYED, 2, standby={"count": 1}))
    assert "without the JVM helpers there are no standbys" in caplog.text
    pipeline.start(lambda df: df.groupBy("key").agg(sf.sum("value")), "complete")
    eventually(pipeline.reached, "two executors and no standby", 240)
    pipeline.run()
    executors = [pipeline.spark_id(number) for number in (0, 1)]
    wanted = tuple(executors[number] for number in pipeline.plan.assignment["count"])
    location = StateLocation(pipeline.spark, pipeline.query)
    eventually(lambda: location.owners() == wanted or None, "the substreams to move", 60)
    pipeline.run()
    assert pipeline.ran_on() == dict(enumerate(wanted))
    pipeline.feed(3)
    pipeline.want(pipeline.plan.after(Scale(pool="count", executors=1, leaving=(0,), reason="test")))
    eventually(pipeline.reached, "the removal", 120)
    pipeline.run()
    assert set(pipeline.ran_on().values()) == {executors[1]}
    sums = {}
    for row in pipeline.fed():
        sums[row["key"]] = sums.get(row["key"], 0) + row["value"]
    assert pipeline.result() == sorted(sums.items())
