import logging
import re
from types import SimpleNamespace

import pytest

from rheostat.decision import Regroup, Scale
from rheostat.errors import PlantError
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, Snapshot
from rheostat.spark.act.no_pools import NoPools
from rheostat.spark.act.task_counts import Dealer, NotYetError, dealt_by
from rheostat.spark.plant import SparkPlant
from rheostat.spark.query.grouping.balanced import ByCost
from rheostat.spark.query.grouping.row_groupings import ByKey, Evenly, InParts, WholeFiles
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.unit import units_of
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("s"), Operator("a", inputs="s"), Operator("b", inputs="a", key="k", substreams=4)])


def timed():
    """Two operators whose cost depends on a value."""
    function = per_record("n long", cost="n")(lambda record: [record])
    return Topology("t", [Source("s"), Operator("a", function, inputs="s"), Operator("c", function, inputs="a")])


def test_a_stateless_operator_gets_a_task_for_each_slot_told_once_for_each_change():
    told = []
    dealer = Dealer(TOPOLOGY, lambda *what: told.append(what))
    plan = Plan.initial(TOPOLOGY)
    dealer.tell(plan, {})
    dealer.tell(plan, {"a": 2, "b": 3})
    dealer.tell(plan, {"a": 2, "b": 4})
    dealer.tell(plan.after(Regroup(operator="a", grouping="round-robin", reason="test")), {"a": 2})
    dealer.tell(plan, {"a": 0})
    assert told == [("a", None, 2), ("a", "round-robin", 2)]


def test_on_a_local_master_a_plan_is_real_at_once_and_the_log_says_once_what_carries_it(caplog, eventually):
    told = []
    plan = Plan.initial(TOPOLOGY)
    with caplog.at_level(logging.WARNING):
        plant = SparkPlant(TOPOLOGY, NoPools(plan), lambda: Snapshot(0.0, ()), lambda *what: told.append(what)).start()
        try:
            wider = plan.after(Scale(pool="a", executors=3, reason="test"))
            assert plant.apply(wider) == ()
            eventually(lambda: plant.reached(wider) == {"a", "b"} or None, "the plan", 10)
            assert plant.reached(plan) == frozenset()
            eventually(lambda: told[-1:] == [("a", None, 3)] or None, "the tasks", 10)
        finally:
            plant.stop()
    assert [record.message for record in caplog.records] == [
        "a local master has no pools of executors: the number of tasks per batch stands for them"
    ]


def test_trouble_in_a_step_is_told_and_over_when_the_next_one_succeeds(eventually):
    pools = Moody(Plan.initial(TOPOLOGY))
    plant = SparkPlant(TOPOLOGY, pools, lambda: Snapshot(0.0, ()), lambda *what: None).start()
    try:
        plan = Plan.initial(TOPOLOGY)
        told = eventually(lambda: plant.apply(plan) or None, "the trouble", 10)
        assert told == ("the pools could not be looked after: no connection",)
        pools.is_well = True
        eventually(lambda: plant.apply(plan) == () or None, "the end of it", 10)
        assert plant.reached(plan) == {"a", "b"}
    finally:
        plant.stop()


def test_a_grouping_that_is_refused_is_an_obstacle_and_does_not_hold_up_the_plan(eventually):
    def refuse(*what):
        raise PlantError("no such grouping")

    plan = Plan.initial(TOPOLOGY)
    plant = SparkPlant(TOPOLOGY, NoPools(plan), lambda: Snapshot(0.0, ()), refuse).start()
    try:
        told = eventually(lambda: plant.apply(plan) or None, "the refusal", 10)
        assert told == ("no such grouping",)
        assert plant.reached(plan) == {"a", "b"}
    finally:
        plant.stop()


class Moody(NoPools):
    is_well = False

    def step(self, now_s):
        if not self.is_well:
            raise ConnectionError("no connection")
        return super().step(now_s)


def test_every_wanted_executor_stands_in_the_report_of_a_local_plant():
    pools = NoPools(Plan.initial(TOPOLOGY, 2))
    report = pools.step(0.0)
    assert [(m.pool, m.number, m.phase) for m in report.members] == [
        (pool, number, ExecutorPhase.ACTIVE) for pool in ("a", "b") for number in (0, 1)
    ]
    assert report.owners == {"b": (0, 0, 1, 1)}


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        (None, Evenly(3)),
        ("round-robin", Evenly(3)),
        ("whole-files", WholeFiles(3)),
        ("load-aware", InParts(3)),
        ("by-key:word", ByKey(3, "word")),
    ],
)
def test_a_runtime_is_told_the_grouping_of_that_name(grouping, expected):
    runtime = FakeRuntime(units_of(TOPOLOGY))
    dealt_by(runtime)("a", grouping, 3)
    assert runtime.told == [("a", expected)]


def test_an_unknown_grouping_and_an_operator_without_a_query_are_refused():
    with pytest.raises(PlantError, match="there is no grouping 'round-robbin'; did you mean 'round-robin'"):
        dealt_by(FakeRuntime(units_of(TOPOLOGY)))("a", "round-robbin", 3)
    with pytest.raises(PlantError, match="operator 'a' has no running query yet"):
        dealt_by(FakeRuntime([]))("a", None, 3)


@pytest.mark.parametrize("name", ["osg", "batch-greedy"])
def test_groupings_that_balance_have_names_too(name):
    runtime = FakeRuntime(units_of(timed()))
    plan = Plan.initial(timed()).after(Regroup(operator="a", grouping=name, reason="test"))
    Dealer(timed(), dealt_by(runtime)).tell(plan, {"a": 3})
    ((operator, grouping),) = runtime.told
    assert operator == "a"
    assert isinstance(grouping, ByCost)


def test_where_a_grouping_is_refused_rows_are_spread_as_usual_and_others_are_told_all_the_same():
    runtime = FakeRuntime(units_of(timed()))
    plan = Plan.initial(timed(), grouping={"a": "osgg", "c": "osg"})
    (refusal,) = Dealer(timed(), dealt_by(runtime)).tell(plan, {"a": 3, "c": 2})
    assert refusal.startswith("there is no grouping 'osgg'; did you mean 'osg'")
    assert runtime.told[0] == ("a", Evenly(3))
    assert [operator for operator, _ in runtime.told] == ["a", "c"]


@pytest.mark.parametrize(
    ("merge", "reason"),
    [(None, "nothing merges behind it, so 'osg' would split its results"), ("c", "its substreams decide which task")],
)
def test_a_keyed_operator_is_not_regrouped_and_the_reason_is_told(merge, reason):
    parts = [Source("s"), Operator("b", inputs="s", key="k", merge=merge), Operator("c", inputs="b")]
    topology = Topology("t", parts)
    plan = Plan.initial(topology, grouping={"b": "osg"})
    (refusal,) = Dealer(topology, dealt_by(FakeRuntime(units_of(topology)))).tell(plan, {"b": 2})
    assert re.match(f"operator 'b' is keyed by 'k'.*{reason}", refusal)


def test_in_a_query_of_several_operators_the_one_that_reads_a_stream_is_asked():
    runtime = FakeRuntime(units_of(timed(), [("a", "c")]))
    plan = Plan.initial(timed(), grouping={"a": "osg"})
    Dealer(timed(), dealt_by(runtime)).tell(plan, {"a": 3, "c": 3})
    assert [operator for operator, _ in runtime.told] == ["a"]


@pytest.mark.parametrize("fused", [("s", "a"), ("a", "b")])
def test_an_operator_that_shares_a_query_with_a_source_or_a_keyed_one_is_left_alone(fused):
    runtime = FakeRuntime(units_of(TOPOLOGY, [fused]))
    dealt_by(runtime)("a", None, 3)
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


def test_an_operator_whose_query_does_not_run_yet_is_told_when_it_does():
    told = []

    def deal(*what):
        told.append(what)
        if len(told) == 1:
            raise NotYetError("not yet")

    dealer = Dealer(TOPOLOGY, deal)
    plan = Plan.initial(TOPOLOGY, 1)
    for _ in range(3):
        dealer.tell(plan, {"a": 2})
    assert told == [("a", None, 2)] * 2
