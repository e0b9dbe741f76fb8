from types import SimpleNamespace

import pytest

from rheostat.errors import PlantError, RheostatError
from rheostat.spark.act.actuators.task_counts import NotYetError, group_rows
from rheostat.spark.query.grouping.balanced import ByCost
from rheostat.spark.query.grouping.row_groupings import ByColumnHash, Evenly, InParts, WholeFiles
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.unit import units_of
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("s"), Operator("a", inputs="s"), Operator("b", inputs="a", key="k", substreams=4)])


def timed():
    """Two operators whose cost depends on a value."""
    function = per_record("n long", cost="n")(lambda record: [record])
    return Topology("t", [Source("s"), Operator("a", function, inputs="s"), Operator("c", function, inputs="a")])


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        (None, Evenly(3)),
        ("round-robin", Evenly(3)),
        ("whole-files", WholeFiles(3)),
        ("load-aware", InParts(3)),
        ("by-key:word", ByColumnHash(3, "word")),
    ],
)
def test_rows_are_grouped_as_the_plan_names_it(grouping, expected):
    runtime = FakeRuntime(units_of(TOPOLOGY))
    group_rows(runtime, "a", grouping, 3)
    assert runtime.told == [("a", expected)]


def test_an_unknown_grouping_and_an_operator_without_a_query_are_refused():
    with pytest.raises(PlantError, match="there is no grouping 'round-robbin'; did you mean 'round-robin'"):
        group_rows(FakeRuntime(units_of(TOPOLOGY)), "a", "round-robbin", 3)
    with pytest.raises(NotYetError, match="operator 'a' has no running query yet"):
        group_rows(FakeRuntime([]), "a", None, 3)


@pytest.mark.parametrize("name", ["osg", "batch-greedy"])
def test_groupings_that_balance_have_names_too(name):
    runtime = FakeRuntime(units_of(timed()))
    group_rows(runtime, "a", name, 3)
    ((operator, grouping),) = runtime.told
    assert operator == "a"
    assert isinstance(grouping, ByCost)


def test_where_a_grouping_is_refused_rows_are_spread_round_robin():
    runtime = FakeRuntime(units_of(timed()))
    with pytest.raises(PlantError, match="there is no grouping 'osgg'; did you mean 'osg'"):
        group_rows(runtime, "a", "osgg", 3)
    assert runtime.told == [("a", Evenly(3))]


@pytest.mark.parametrize(
    ("merge", "reason"),
    [(None, "nothing merges behind it, so 'osg' would split its results"), ("c", "its substreams decide which task")],
)
def test_a_keyed_operator_is_not_regrouped_and_the_reason_is_told(merge, reason):
    parts = [Source("s"), Operator("b", inputs="s", key="k", merge=merge), Operator("c", inputs="b")]
    topology = Topology("t", parts)
    with pytest.raises(RheostatError, match=f"operator 'b' is keyed by 'k'.*{reason}"):
        group_rows(FakeRuntime(units_of(topology)), "b", "osg", 2)


def test_in_a_query_of_several_operators_the_one_that_reads_a_stream_is_asked():
    runtime = FakeRuntime(units_of(timed(), [("a", "c")]))
    for operator, grouping in (("a", "osg"), ("c", None)):
        group_rows(runtime, operator, grouping, 3)
    assert [operator for operator, _ in runtime.told] == ["a"]


@pytest.mark.parametrize("fused", [("s", "a"), ("a", "b")])
def test_an_operator_that_shares_a_query_with_a_source_or_a_keyed_one_is_left_alone(fused):
    runtime = FakeRuntime(units_of(TOPOLOGY, [fused]))
    group_rows(runtime, "a", None, 3)
    assert runtime.told == []


class FakeRuntime:
    """Queries that do not run, and what was told about them."""

    def __init__(self, units):
        self.queries = {unit.name: SimpleNamespace(unit=unit) for unit in units}
        self.told = []

    def timings(self, operator):
        return None

    def regroup(self, operator, grouping):
        self.told.append((operator, grouping))
