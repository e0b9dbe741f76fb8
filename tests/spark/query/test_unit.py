"""Which operators share a query, and what their streams are called."""

import pytest

from rheostat.errors import TopologyError
from rheostat.spark.query.unit import units_of
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("read", inputs="in"),
        Operator("sort", inputs="read", outputs=("big", "small")),
        Operator("count", inputs="sort.big", key="k"),
        Operator("tell", inputs=("count", "sort.small")),
    ],
)


def unit(*group):
    (found,) = [each for each in units_of(TOPOLOGY, [group]) if set(each.parts) == set(group)]
    return found


@pytest.mark.parametrize(
    ("group", "name", "stream"),
    [
        (("in",), "in", "in"),
        (("read", "in"), "in+read", "read"),
        (("sort",), "sort", "sort"),
        (("sort", "read"), "read+sort", "sort"),
        (("sort", "count"), "sort+count", "sort+count"),
        (("count", "tell"), "count+tell", "tell"),
    ],
)
def test_a_stream_is_named_by_the_operator_that_writes_it_unless_several_do(group, name, stream):
    assert (unit(*group).name, unit(*group).stream) == (name, stream)


def test_what_one_query_cannot_hold_is_refused_by_name():
    with pytest.raises(TopologyError, match="cannot fuse 'in' twice"):
        units_of(TOPOLOGY, [("in", "read"), ("in", "sort")])
    with pytest.raises(TopologyError, match=r"cannot fuse 'rea' .* did you mean 'read'"):
        units_of(TOPOLOGY, [("rea", "sort")])
