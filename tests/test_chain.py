import pytest

from rheostat.chain import in_flow_order, why_no_chain
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("read", inputs="in"),
        Operator("split", inputs="read"),
        Operator("count", inputs="split", key="word"),
        Operator("rank", inputs="count"),
        Operator("alarm", inputs="count"),
        Operator("sort", inputs="alarm", outputs=("big", "small")),
        Operator("join", inputs=("sort.big", "sort.small", "rank")),
        Operator("again", inputs=("join",)),
    ],
)


@pytest.mark.parametrize("group", [("read", "split"), ("split", "read"), ("count", "read", "split"), ("alarm", "sort")])
def test_a_chain_can_be_fused_in_whatever_order_it_is_named(group):
    assert why_no_chain(TOPOLOGY, group) is None


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (("in", "read"), "'in' is a source: it can only be fused from the start"),
        (("split",), "'split' alone is not a chain: name at least two operators"),
        (("count", "rank"), "'count' is keyed: only the last operator of a chain may be, which is 'rank'"),
        (("read", "alarm"), "'alarm' must read the stream of 'read' and nothing else"),
        (("sort", "join"), "'join' must read the stream of 'sort' and nothing else"),
        (("join", "again"), "'join' must read exactly one stream from outside the chain"),
    ],
)
def test_what_is_no_chain_is_told_with_the_operator_at_fault(group, words):
    assert why_no_chain(TOPOLOGY, group) == words


def test_an_operator_that_others_read_as_well_is_not_fused_away():
    topology = Topology("t", [Source("in"), *(Operator(n, inputs=i) for n, i in [("a", "in"), ("b", "a"), ("c", "a")])])
    assert why_no_chain(topology, ("a", "b")) == "'a' is read by 'c' as well"


def test_a_loop_is_no_chain():
    topology = Topology(
        "t", [Source("in"), Operator("a", inputs=("in", "b"), selectivity=0.5), Operator("b", inputs="a")]
    )
    assert why_no_chain(topology, ("a", "b")) is not None
    assert in_flow_order(topology, ("b", "a")) == ("b", "a")
