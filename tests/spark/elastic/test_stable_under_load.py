"""A real pipeline under a real loop: the executors follow a load that triples and falls again, and nothing piles up."""

import numpy as np
import pytest

from rheostat.cli.history import History
from rheostat.load import Constant, Step
from rheostat.load.skew import zipf
from rheostat.running import start
from rheostat.sla import Budget
from rheostat.workloads.feeder import Feeder
from rheostat.workloads.wordcount import sentences, word_count

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

COST_S = 0.02
LOW, HIGH = 25.0, 75.0
"""Sentences a second: half an executor's work, and one and a half."""


@pytest.fixture
def history():
    return History()


def test_threshold_keeps_a_pipeline_stable_under_a_load_that_triples_and_falls(elastic, history, tmp_path, eventually):
    load = Step([(0, LOW), (40, HIGH), (120, LOW)])
    inbox = tmp_path / "sentences"
    make = sentences(zipf(100, 0.9), np.random.default_rng(1))
    feeder = Feeder(inbox, load, make)
    options = {"budget": Budget(6, most={"count": 2}), "directory": tmp_path / "run", "spark": elastic}
    with start(
        word_count(inbox, cost_s=COST_S, substreams=4), sla="10s/30s", listeners=[history], **options
    ) as running:
        with Feeder(inbox, Constant(10), make) as trickle:
            eventually(lambda: any(m.completed for m in history.moments) or None, "first results", 240)
        with feeder:
            eventually(lambda: _split(history) >= 2 or None, "a second executor under the higher load", 240)
            eventually(lambda: _split(history) == 1 or None, "one executor again under the lower load", 360)
        running.runtime.drain()
        words = running.runtime.results("count").groupBy("word").agg({"count": "max"}).collect()
    assert sum(row[1] for row in words) == 5 * (feeder.fed + trickle.fed)
    # Half a minute of the higher load at most was ever waiting: a queue that grew for ever would have held more.
    assert max(moment.queued["split"] or 0 for moment in history.moments) < 30 * HIGH


def _split(history):
    return history.moments[-1].executors["split"]
