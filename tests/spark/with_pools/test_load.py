"""A real pipeline under a real loop: the executors follow a load that triples and falls again, and nothing piles up."""

import numpy as np
import pytest
from drain import drain

from rheostat.cli.run_history import RunHistory
from rheostat.load import Constant, Step
from rheostat.load.skew import zipf
from rheostat.pipeline import start
from rheostat.sla import Budget
from rheostat.workloads.feeder import Feeder
from rheostat.workloads.wordcount import sentences, word_count

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

COST_S = 0.02
LOW, HIGH = 25.0, 75.0
"""Sentences a second: half an executor's work, and one and a half."""
LOW_S, HIGH_S = 20, 60


@pytest.fixture
def history():
    return RunHistory()


def test_threshold_keeps_a_pipeline_stable_under_a_load_that_triples_and_falls(free, history, tmp_path, eventually):
    load = Step([(0, LOW), (LOW_S, HIGH), (LOW_S + HIGH_S, LOW)])
    risen, fallen = LOW_S * LOW, LOW_S * LOW + HIGH_S * HIGH
    inbox = tmp_path / "sentences"
    make = sentences(zipf(100, 0.9), np.random.default_rng(1))
    feeder = Feeder(inbox, load, make)
    options = {"budget": Budget(6, most={"count": 2}), "directory": tmp_path / "run", "on": free, "policy": "threshold"}
    with start(
        word_count(inbox, cost_s=COST_S, substreams=4), sla="10s/30s", listeners=[history], **options
    ) as running:
        with Feeder(inbox, Constant(10), make) as trickle:
            eventually(lambda: any(m.completed for m in history.turns) or None, "first results", 240)
        with feeder:
            eventually(lambda: (feeder.fed > risen and _split(history) >= 2) or None, "a second executor", 240)
            eventually(lambda: (feeder.fed > fallen and _is_calm(history)) or None, "one executor, and no queue", 360)
        drain(running.runtime)
        words = running.runtime.results("count").groupBy("word").agg({"count": "max"}).collect()
    assert sum(row[1] for row in words) == 5 * (feeder.fed + trickle.fed)


def _is_calm(history):
    """One executor, with no more before it than came in the last seconds."""
    return _split(history) == 1 and (history.turns[-1].queued["split"] or 0) < 10 * LOW


def _split(history):
    return history.turns[-1].executors["split"]
