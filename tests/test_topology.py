import pickle
import warnings

import numpy as np
import pytest

from rheostat.errors import TopologyError
from rheostat.topology import DEFAULT_SUBSTREAMS, Operator, Source, Topology, TopologyWarning


def chain(*operators: Operator) -> Topology:
    return Topology("t", [Source("in"), *operators])


def test_a_stream_is_named_by_who_writes_it() -> None:
    topology = chain(Operator("split", inputs="in", selectivity=8), Operator("count", inputs="split", key="word"))
    assert [str(stream) for stream in topology.streams] == ["in->split", "split->count"]
    assert [stream.selectivity for stream in topology.streams] == [1.0, 8.0]
    assert topology.terminals == ("count",)


def test_named_outputs_are_streams_of_their_own() -> None:
    topology = chain(
        Operator("route", inputs="in", outputs={"good": 0.7, "bad": 0.3}),
        Operator("use", inputs="route.good"),
        Operator("report", inputs=["route.bad", "use"]),
    )
    assert topology.routing.tolist() == [[0, 0.7, 0.3], [0, 0, 1.0], [0, 0, 0]]
    assert [stream.producer for stream in topology.into("report")] == ["route", "use"]


def test_a_keyed_operator_has_substreams_and_a_stateless_one_has_none() -> None:
    assert Operator("count", inputs="in", key="word").substream_count == DEFAULT_SUBSTREAMS
    assert Operator("split", inputs="in").substream_count == 0


def test_loops_that_die_out_are_allowed() -> None:
    topology = chain(Operator("detect", inputs=["in", "detect"], selectivity=0.5))
    assert topology.routing[0, 0] == 0.5


def test_parts_may_come_in_any_order() -> None:
    topology = Topology("t", [Operator("b", inputs="a"), Operator("a", inputs="s"), Source("s")])
    assert list(topology.operators) == ["b", "a"]


def test_a_topology_cannot_be_changed() -> None:
    topology = chain(Operator("a", inputs="in"))
    with pytest.raises(AttributeError):
        topology.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        topology.routing[0, 0] = 1.0


@pytest.mark.parametrize(
    ("parts", "culprit"),
    [
        ([Source("in"), Operator("a", inputs="in"), Operator("a", inputs="in")], "two parts .* 'a'"),
        ([Source("a"), Operator("a", inputs="a")], "two parts .* 'a'"),
        ([Source("in"), Operator("a", inputs="inn")], "'a' reads 'inn', which nothing writes; did you mean 'in'"),
        ([Source("in"), Operator("a")], "nothing feeds operator 'a'"),
        ([Source("in"), Operator("a", inputs=["in", "in"])], "'a' reads 'in' twice"),
        (
            [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="c"), Operator("c", inputs="b")],
            "no source feeds operator 'b'",
        ),
        ([Source("in")], "has no operator"),
        ([Source("in"), Operator("a", inputs="in", key="k", merge="b"), Operator("b", inputs="in")], "merge 'b'"),
    ],
)
def test_a_wrong_topology_is_refused_with_the_name_of_the_culprit(parts: list[Source | Operator], culprit: str) -> None:
    with pytest.raises(TopologyError, match=culprit):
        Topology("t", parts)


def test_a_loop_that_amplifies_is_refused_with_its_operators_and_gain() -> None:
    with pytest.raises(TopologyError, match=r"loop through a, b .* gain is 1\.2"):
        chain(
            Operator("first", inputs="in"),
            Operator("a", inputs=["first", "b"], selectivity=1.2),
            Operator("b", inputs="a", selectivity=1.2),
        )


def test_two_loops_through_one_operator_amplify_although_each_alone_would_not() -> None:
    loop = {"inputs": "hub", "selectivity": 0.6}
    with pytest.raises(TopologyError, match="hub, one, two"):
        chain(Operator("hub", inputs=["in", "one", "two"]), Operator("one", **loop), Operator("two", **loop))
    weaker = {"inputs": "hub", "selectivity": 0.45}
    chain(Operator("hub", inputs=["in", "one", "two"]), Operator("one", **weaker), Operator("two", **weaker))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"substreams": 4}, "4 substreams but no key"),
        ({"merge": "b"}, "merge .* but no key"),
        ({"key": ""}, "key is empty"),
        ({"key": "k", "substreams": 0}, "0 substreams"),
        ({"key": "k", "substreams": -3}, "-3 substreams"),
        ({"selectivity": -1.0}, "selectivity -1.0"),
        ({"selectivity": float("nan")}, "selectivity nan"),
        ({"outputs": {"x": float("inf")}}, "'a.x': selectivity inf"),
        ({"outputs": ["x.y"]}, "must not contain a dot"),
    ],
)
def test_a_wrong_operator_is_refused_with_the_value(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        Operator("a", inputs="in", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "  ", "a.b", "a/b"])
def test_names_that_cannot_be_used_are_refused(name: str) -> None:
    with pytest.raises(TopologyError, match="name"):
        Operator(name, inputs="in")


@pytest.mark.parametrize("rate", [0, -1.0, float("inf"), float("nan")])
def test_a_source_rate_must_be_positive(rate: float) -> None:
    with pytest.raises(TopologyError, match="rate"):
        Source("in", rate=rate)


def test_rejected_records_are_a_result_that_nobody_has_to_read(recwarn: pytest.WarningsRecorder) -> None:
    chain(Operator("a", inputs="in", outputs=["good", "rejected"]), Operator("b", inputs="a.good"))
    chain(Operator("a", inputs="in", outputs=["good", "bad"]))
    assert not recwarn.list


def test_a_stream_nobody_reads_is_a_warning_that_names_it() -> None:
    with pytest.warns(TopologyWarning, match="no operator reads stream 'a.rest'"):
        chain(Operator("a", inputs="in", outputs=["used", "rest"]), Operator("b", inputs="a.used"))
    with pytest.warns(TopologyWarning, match="no operator reads stream 'other'"):
        Topology("t", [Source("in"), Source("other"), Operator("a", inputs="in")])


def test_the_output_of_the_last_operator_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chain(Operator("a", inputs="in"))


def test_an_unknown_operator_is_answered_with_the_one_meant() -> None:
    with pytest.raises(TopologyError, match="no operator 'cuont'; did you mean 'count'"):
        chain(Operator("count", inputs="in")).operators["cuont"]


def test_the_fingerprint_tells_what_state_depends_on_and_nothing_else() -> None:
    keyed = chain(Operator("count", inputs="in", key="word", substreams=8))
    same = chain(Operator("count", inputs="in", key="word", substreams=8, selectivity=0.5))
    other = chain(Operator("count", inputs="in", key="word", substreams=16))
    assert keyed.fingerprint() == same.fingerprint() != other.fingerprint()


def test_a_topology_can_be_sent_to_another_process() -> None:
    topology = chain(Operator("a", inputs="in"))
    assert np.array_equal(pickle.loads(pickle.dumps(topology)).routing, topology.routing)
