"""Sinks in words, without a session."""

from pathlib import Path

import pytest

from rheostat.errors import ConfigError, TopologyError
from rheostat.spark.query.sinks import ConsoleSink, FolderSink, checked_sinks, sink_of
from rheostat.spark.query.unit import units_of
from rheostat.topology import Operator, Source, Topology


@pytest.mark.parametrize(
    ("words", "sink"),
    [
        ("out", FolderSink("out")),
        (Path("console"), FolderSink(Path("console"))),
        ("parquet:out", FolderSink("out", "parquet")),
        ("csv:/data/out", FolderSink("/data/out", "csv")),
        ("json:s3a://bucket/out", FolderSink("s3a://bucket/out", "json")),
        ("s3a://bucket/out", FolderSink("s3a://bucket/out")),
        ("console", ConsoleSink("count")),
    ],
)
def test_a_sink_in_words(words, sink):
    assert sink_of("count", words) == sink


def test_a_form_without_a_folder_is_refused():
    with pytest.raises(ConfigError, match=r"names no folder: write e\.g\. json:results/count"):
        sink_of("count", "json:")


def test_sinks_are_for_results_only():
    topology = Topology("t", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split")])
    assert checked_sinks({"count": "console"}, units_of(topology)) == {"count": ConsoleSink("count")}
    with pytest.raises(TopologyError, match=r"for 'split', which is no result; .*count"):
        checked_sinks({"split": "console"}, units_of(topology))
