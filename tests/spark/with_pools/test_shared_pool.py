"""Operators that share a pool, fused or not, on a node that is asked for by its label."""

from collections import Counter

import pytest
from drain import drain
from pyspark.sql import functions as sf

from rheostat.pipeline import start
from rheostat.plan import Plan
from rheostat.spark.target import SparkTarget
from rheostat.topology import Operator, Source, Topology

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

LINES = ["to be or not to be", "that is the question"] * 20


@pytest.mark.parametrize(
    ("together", "pool"), [pytest.param("shared", "split+count", marks=pytest.mark.slow), ("fused", "count")]
)
def test_operators_share_the_executors_of_a_pool_on_the_node_that_has_the_label(
    free, cluster, tmp_path, eventually, together, pool
):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "lines.txt").write_text("\n".join(LINES))
    topology = Topology(
        "words",
        [
            Source("lines", reader=lambda spark: spark.readStream.text(str(inbox))),
            Operator("split", lambda df: df.select(sf.explode(sf.split("value", " ")).alias("word")), inputs="lines"),
            Operator("count", lambda df: df.groupBy("word").count(), inputs="split", key="word", substreams=2),
        ],
    )
    seen = []
    plan = Plan.initial(topology, **{together: [["split", "count"]]})
    target = SparkTarget(free, nodes={"count": "big"})
    options = {"plan": plan, "on": target, "directory": tmp_path / "run"}
    with start(topology, policy="static", listeners=[seen.append], **options) as running:
        drain(running.runtime)
        rows = running.runtime.results("count").collect()
        (serving,) = eventually(lambda: _serving(seen, pool) or None, "an executor that serves")
    newest = {row["word"]: row["count"] for row in sorted(rows, key=lambda row: row["batch"])}
    assert newest == Counter(" ".join(LINES).split())
    assert serving.node == next(node.host for node in cluster.status().nodes if node.name == "right")
    assert list(running.plan.pools) == [pool]


def _serving(periods, pool):
    snapshot = periods[-1].snapshot if periods else None
    return [] if snapshot is None else list(snapshot.active(pool))
