"""The first words of an attached application: batches on cold executors are slow, and no reason for more executors."""

import json

import pytest
from pyspark.sql.functions import count

from rheostat.attachment import attach
from rheostat.decision import Scale

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300), pytest.mark.usefixtures("idle_cluster")]

WORDS = ("one", "two", "three", "four", "five")
CALM_TURNS = 5
"""Turns of a second that are watched after the last word."""


@pytest.mark.parametrize("policy", ["threshold", pytest.param("drs", marks=pytest.mark.slow)])
def test_five_words_lead_to_no_scale_out(spark, tmp_path, eventually, policy):
    inbox = tmp_path / "words"
    inbox.mkdir()
    counted = spark.readStream.schema("word string").json(str(inbox)).groupBy("word").agg(count("*"))
    writer = counted.writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        with attach(spark, "5s/30s", policy, max_executors=3, period="1s") as attachment:
            for word in WORDS:
                draft = inbox / f".{word}"
                draft.write_text(json.dumps({"word": word}))
                draft.rename(inbox / f"{word}.json")
                query.processAllAvailable()
            last = attachment.last
            for _ in range(CALM_TURNS):
                last = eventually(lambda seen=last: attachment.last if attachment.last is not seen else None, "a turn")
            decided = [entry.decision for entry in attachment.journal.decisions()]
    finally:
        query.stop()
    assert [each.reason for each in decided if isinstance(each, Scale) and "scale out" in each.reason] == []
