"""Query changes: which queries are replaced together, and which changes are refused."""

import pytest

from rheostat.errors import PlantError
from rheostat.spark.query.fusion.query_changes import changes_between
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("a", inputs="in"),
        Operator("b", inputs="a"),
        Operator("c", inputs="b", key="k"),
        Operator("d", inputs="c"),
        Operator("e", inputs="c"),
    ],
)


APART = [("in",), ("a",), ("b",), ("c",), ("d",), ("e",)]


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (APART, APART, []),
        (APART, [("in",), ("c", "b"), ("a",), ("d",), ("e",)], ["b, c to b+c"]),
        ([("in",), ("a", "b"), ("c",), ("d",), ("e",)], APART, ["a+b to a, b"]),
        (
            [("in",), ("a", "b"), ("c",), ("d",), ("e",)],
            [("in",), ("a",), ("b", "c"), ("d",), ("e",)],
            ["a+b, c to a, b+c"],
        ),
        ([("in", "a"), ("b",), ("c",), ("d",), ("e",)], [("in", "a"), ("b", "c"), ("d",), ("e",)], ["b, c to b+c"]),
    ],
)
def test_only_those_queries_change_that_must(before, after, changes):
    assert [str(change) for change in changes_between(TOPOLOGY, before, after)] == changes


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ([("in", "a"), ("b",), ("c",), ("d",), ("e",)], "'in' is a source"),
        ([("in",), ("a",), ("b",), ("c", "d"), ("e",)], "'c' is keyed"),
    ],
)
def test_what_cannot_change_while_it_runs_is_refused_with_the_reason(after, words):
    with pytest.raises(PlantError, match=words):
        changes_between(TOPOLOGY, APART, after)
