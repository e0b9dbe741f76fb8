import pytest

from rheostat.cli.commands.run import _parse_sources
from rheostat.cli.topic_sources import ONLY, read_from_topics
from rheostat.errors import ConfigError, TopologyError
from rheostat.topology import Operator, Source, Topology

WORDS = Topology("words", [Source("lines", rate=5.0), Operator("split", inputs="lines")])
JOIN = Topology("join", [Source("left"), Source("right"), Operator("both", inputs=["left", "right"])])


def test_a_topic_is_read_instead_of_the_only_source():
    replaced = read_from_topics(WORDS, {ONLY: "kafka:orders@broker:9092"}, {"minPartitions": "8"})
    source = replaced.sources["lines"]
    assert (source.rate, source.reader.name, source.reader.servers) == (5.0, "orders", "broker:9092")
    assert source.reader.option("minpartitions") == "8"
    assert replaced.fingerprint() == WORDS.fingerprint()


def test_of_several_sources_one_is_named():
    with pytest.raises(ConfigError, match=r"several sources \(left, right\)"):
        read_from_topics(JOIN, {ONLY: "kafka:orders@broker:9092"}, {})
    replaced = read_from_topics(JOIN, {"right": "kafka:orders@broker:9092"}, {})
    assert replaced.sources["left"].reader is None
    with pytest.raises(TopologyError, match="no source 'rihgt'"):
        read_from_topics(JOIN, {"rihgt": "kafka:orders@broker:9092"}, {})


def test_sources_on_the_command_line():
    texts = ["kafka:a@b:1", "right=kafka:c@d:2"]
    assert _parse_sources(texts) == {ONLY: "kafka:a@b:1", "right": "kafka:c@d:2"}
    assert _parse_sources(None) is None
    with pytest.raises(ConfigError, match="--source 'files' is no topic"):
        _parse_sources(["files"])
