"""The run directory: whose it is, and what it refuses."""

import json
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from rheostat.errors import ConfigError, PlantError
from rheostat.spark.query.run_directory import RunDirectory, folder_name, local_path
from rheostat.topology import Operator, Source, Topology

WORDS = Topology("words", [Source("sentences"), Operator("split", inputs="sentences")])
ORDERS = Topology("orders", [Source("trades"), Operator("match", inputs="trades")])
QUERIES = [("sentences",), ("split",)]


def schema(columns: str) -> StructType:
    """`word string, n integer`; reading DDL would need a session."""
    struct = StructType()
    for column in columns.split(", "):
        struct = struct.add(*column.split())
    return struct


def test_a_directory_of_another_topology_is_refused_with_both_names(tmp_path: Path) -> None:
    kept = RunDirectory(tmp_path, WORDS, QUERIES)
    kept.record_schemas({"split": schema("word string")})
    kept.release()
    with pytest.raises(PlantError, match=r"'words', not of 'orders': use another directory"):
        RunDirectory(tmp_path, ORDERS, [("trades",), ("match",)])


def test_a_changed_topology_is_refused_by_what_differs(tmp_path: Path) -> None:
    kept = RunDirectory(tmp_path, CHAIN)
    kept.record_schemas({})
    kept.release()
    count = Operator("count", inputs="split", key="term", substreams=8)
    changed = Topology("words", [Source("in"), Operator("split", inputs="in"), Operator("join", inputs="in"), count])
    with pytest.raises(PlantError) as refused:
        RunDirectory(tmp_path, changed)
    for words in (
        "operator 'join' is new",
        "the key of operator 'count' was 'w' and is 'term' now",
        "the substreams of operator 'count' were 16 and are 8 now",
    ):
        assert words in str(refused.value)
    assert CHAIN.fingerprint() not in str(refused.value)


def test_a_refused_directory_is_free_for_its_owner(tmp_path: Path) -> None:
    kept = RunDirectory(tmp_path, WORDS, QUERIES)
    kept.record_schemas({})
    kept.release()
    with pytest.raises(PlantError):
        RunDirectory(tmp_path, ORDERS, [])
    RunDirectory(tmp_path, WORDS, QUERIES).release()


def test_other_fused_operators_are_refused_with_both_ways(tmp_path: Path) -> None:
    kept = RunDirectory(tmp_path, WORDS, QUERIES)
    kept.record_schemas({})
    kept.release()
    with pytest.raises(PlantError, match=r"queries are sentences, split, not sentences\+split"):
        RunDirectory(tmp_path, WORDS, [("sentences", "split")])


CHAIN = Topology("words", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="w")])
APART, FUSED = [("in",), ("split",), ("count",)], [("in",), ("split", "count")]


def test_the_directory_says_which_queries_there_are_and_others_may_come_to_be(tmp_path: Path) -> None:
    kept = RunDirectory(tmp_path, CHAIN, APART)
    kept.record_schemas({})
    kept.release()
    again = RunDirectory(tmp_path, CHAIN, FUSED)
    assert set(again.queries) == set(APART)
    again.record_queries([("in",), ("count", "split")])
    again.release()
    assert set(RunDirectory(tmp_path, CHAIN, APART).queries) == set(FUSED)


def test_checkpoints_of_queries_that_are_none_are_removed(tmp_path: Path) -> None:
    kept = RunDirectory(tmp_path, CHAIN, APART)
    kept.record_schemas({})
    kept.release()
    for query in ("in", "split", "count", "split+count"):
        kept.checkpoint(query).mkdir(parents=True)
    again = RunDirectory(tmp_path, CHAIN, APART)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["count", "in", "split"]
    again.record_queries(FUSED)
    again.remove_unused_checkpoints()
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["in"]


def test_nothing_is_removed_where_no_run_has_been(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "somebody").mkdir(parents=True)
    RunDirectory(tmp_path, CHAIN, APART).release()
    assert (tmp_path / "checkpoints" / "somebody").exists()


def test_what_streams_looked_like_is_remembered_while_they_are_within_a_query(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path, CHAIN, APART)
    directory.record_schemas({"split": schema("word string"), "count": schema("n long")})
    directory.record_schemas({"count": schema("n long")})
    with pytest.raises(PlantError, match="column 'word' of stream 'split' is int now and was string"):
        directory.record_schemas({"split": schema("word integer")})
    directory.release()


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path, WORDS, QUERIES)
    with pytest.raises(PlantError, match="another run is using"):
        RunDirectory(tmp_path, WORDS, QUERIES)
    first.release()
    RunDirectory(tmp_path, WORDS, QUERIES).release()


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ("word integer", "column 'word' of stream 'split' is int now and was string"),
        ("term string", "column 'word' of stream 'split' is missing now and was string"),
        ("word string, n integer", "column 'n' of stream 'split' is int now and was missing"),
    ],
)
def test_another_schema_is_refused_with_operator_and_column(tmp_path: Path, now: str, words: str) -> None:
    directory = RunDirectory(tmp_path, WORDS, QUERIES)
    directory.record_schemas({"split": schema("word string")})
    directory.record_schemas({"split": schema("word string")})
    with pytest.raises(PlantError, match=f"operator 'split': {words}"):
        directory.record_schemas({"split": schema(now)})
    directory.release()


def test_a_damaged_identity_is_named(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text("{")
    with pytest.raises(PlantError, match=r"identity\.json is damaged"):
        RunDirectory(tmp_path, WORDS, QUERIES)


def test_the_identity_can_be_read_by_people(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path, WORDS, QUERIES)
    directory.record_schemas({"split": schema("word string, n long")})
    directory.release()
    kept = json.loads((tmp_path / "identity.json").read_text())
    assert kept["topology"] == "words"
    assert kept["schemas"] == {"split": {"word": "string", "n": "bigint"}}


@pytest.mark.parametrize("path", ["s3a://bucket/run", "hdfs://name/run", "dbfs:/run"])
def test_a_directory_that_is_no_file_system_path_is_refused_by_its_scheme(path: str) -> None:
    with pytest.raises(ConfigError, match=f"not {path.split(':')[0]}:"):
        local_path(path)


def test_a_file_uri_is_a_path() -> None:
    assert local_path("file:/tmp/run") == Path("/tmp/run")


def test_folder_names_are_plain_and_distinct() -> None:
    assert folder_name("split+count") == "split+count"
    assert folder_name("check.rejected") == "check.rejected"
    names = [folder_name(name) for name in ("a b", "a_b", "a:b", "a*b", "ä b", "op.out")]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-+.") for name in names)
