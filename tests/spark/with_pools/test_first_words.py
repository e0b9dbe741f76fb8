"""The first words of a run: batches on cold executors are slow, and no reason for more executors."""

import json
from datetime import UTC, datetime

import pytest
from drain import drain

from rheostat.cli.run_history import RunHistory
from rheostat.pipeline import start
from rheostat.sla import Budget
from rheostat.workloads.wordcount import word_count

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

WORDS = ("one", "two", "three", "four", "five")
CALM_TURNS = 10
"""Turns of a second that are watched after the last word."""


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["threshold", "drs"])
def test_five_words_lead_to_no_scale_out(free, tmp_path, eventually, policy):
    inbox, history = tmp_path / "sentences", RunHistory()
    inbox.mkdir()
    topology = word_count(inbox, substreams=4)
    options = {"budget": Budget(6), "directory": tmp_path / "run", "on": free, "listeners": [history]}
    with start(topology, sla="5s/30s", policy=policy, **options) as pipeline:
        for word in WORDS:
            _write(inbox, word)
            drain(pipeline.runtime)
        turns = len(history.turns)
        eventually(lambda: len(history.turns) >= turns + CALM_TURNS or None, "more turns")
        words = pipeline.runtime.results("count").collect()
    assert {row["word"] for row in words} == set(WORDS)
    assert [each.decision.reason for _, each in history.decisions()] == []


def _write(inbox, word: str) -> None:
    entered = datetime.now(UTC).isoformat()
    draft = inbox / f".{word}"
    draft.write_text(json.dumps({"entered": entered, "text": word}) + "\n")
    draft.rename(inbox / f"{word}.json")
