"""Decisions to fuse and to split, carried out on pools: executors go and come, counts stay exact."""

from collections import Counter

import pytest
from drain import drain
from pyspark.sql import functions as sf

from rheostat.decision import Fuse, Split
from rheostat.loop.options import LoopOptions
from rheostat.pipeline import start
from rheostat.policies.policy import Policy
from rheostat.topology import Operator, Source, Topology

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


class Wish:
    """What the policy below is to want."""

    fused = False


def wishing(wish):
    """A policy that has `split` fused with `count` when `wish` says so, and not otherwise."""

    class Wishing(Policy):
        def decide(self, observation):
            if wish.fused == bool(observation.plan.fused):
                return []
            return [_decision(wish)]

    return Wishing


def _decision(wish):
    if wish.fused:
        return Fuse(operators=("split", "count"), reason="wished for")
    return Split(operators=("split", "count"), reason="wished for")


def _pools_with_executors(periods):
    snapshot = periods[-1].snapshot
    return set() if snapshot is None else {executor.pool for executor in snapshot.executors}


def test_pools_go_and_come_as_operators_are_fused_and_split_and_no_row_is_lost_or_doubled(free, tmp_path, eventually):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    words = Counter()

    def feed(number):
        draft = inbox / f".{number}"
        draft.write_text(f"a b word{number % 5} a\n" * 20)
        draft.rename(inbox / f"{number:04d}.txt")
        words.update({"a": 40, "b": 20, f"word{number % 5}": 20})

    topology = Topology(
        "words",
        [
            Source("lines", reader=lambda spark: spark.readStream.option("maxFilesPerTrigger", 1).text(str(inbox))),
            Operator("split", lambda df: df.select(sf.explode(sf.split("value", " ")).alias("word")), inputs="lines"),
            Operator("count", lambda df: df.groupBy("word").count(), inputs="split", key="word", substreams=2),
        ],
    )
    wish, periods, fed = Wish(), [], iter(range(10_000))

    def real(fused):
        """For waiting, feeding a little meanwhile."""
        if not running.runtime.queries["lines"].query.status["isDataAvailable"]:
            feed(next(fed))
        plan = running.plan
        return (bool(plan.fused) == fused and running.plant.reached(plan) == plan.pools.keys()) or None

    with start(
        topology,
        policy=wishing(wish),
        on=free,
        directory=tmp_path / "run",
        listeners=[periods.append],
        loop=LoopOptions("500ms"),
    ) as running:
        for fused in (False, True, False, True):
            wish.fused = fused
            eventually(lambda fused=fused: real(fused), f"fused: {fused}", 240)
            pools = {"count"} if fused else {"count", "split"}
            eventually(
                lambda pools=pools: _pools_with_executors(periods) == pools or None, f"executors in {pools}", 240
            )
        drain(running.runtime)
        rows = running.runtime.results("count").collect()
    counted = {}
    for row in rows:
        counted[row["word"]] = max(counted.get(row["word"], 0), row["count"])
    assert counted == words
