import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.capabilities import Capabilities
from rheostat.decision import Fuse, Hold, Location, Move, Place, Regroup, Scale, Split, Transfer
from rheostat.loop.guards import Context, arbitrate
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan, PoolPlan
from rheostat.sla import Budget, Goal
from rheostat.snapshot import ExecutorPhase, ExecutorState, Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("split", inputs="in"),
        Operator("part", inputs="split", key="word", substreams=6, merge="sum"),
        Operator("sum", inputs="part", key="word", substreams=6),
    ],
)
PLAN = Plan.initial(TOPOLOGY, 2)
ANYTHING = Capabilities(
    can_fuse=True, can_place=True, groupings=dict.fromkeys(TOPOLOGY.operators, ("osg", "load_aware"))
)
MEASURED = OperatorMeasures(arrival_rate=10.0, completion_rate=10.0)


def context(plan=PLAN, budget=None, options=None, age_s=0.0, unmeasured=(), **more):
    operators = {name: OperatorMeasures() if name in unmeasured else MEASURED for name in TOPOLOGY.operators}
    loop = options or LoopOptions("10s")
    return Context(
        goal=Goal(TOPOLOGY, budget=budget or Budget()),
        options=loop,
        dry_run=loop.dry_run,
        time_s=1000.0,
        measured=Measures(10.0, operators),
        plan=plan,
        **{"capabilities": ANYTHING, "snapshot": Snapshot(1000.0 - age_s, ()), **more},
    )


def scale(pool, executors, **more):
    return Scale(pool=pool, executors=executors, reason="test", **more)


def judged(*decisions, **more):
    verdicts, plan = arbitrate(decisions, context(**more))
    return [(verdict.decision.subject, verdict.ruling.value, verdict.why) for verdict in verdicts], plan


def refusal(decision, **more):
    [(_, ruling, why)], plan = judged(decision, **more)
    assert (ruling, plan) == ("refused", more.get("plan", PLAN))
    return why


def accepts(decision, **more):
    [(_, ruling, _)], plan = judged(decision, **more)
    return ruling == "accepted" and plan != more.get("plan", PLAN)


def test_a_decision_that_nothing_speaks_against_leads_to_its_plan_and_is_named_by_its_revision():
    decision = scale("sum", 3)
    [verdict], plan = arbitrate([decision], context())
    assert (verdict.ruling, verdict.revision) == (Ruling.ACCEPTED, 1)
    assert plan == PLAN.after(decision)


def test_a_hold_is_neither_accepted_nor_refused():
    assert judged(Hold(pool="sum", reason="fine")) == ([("sum", "held", "")], PLAN)


def test_nothing_is_done_while_paused():
    assert refusal(scale("sum", 3), paused=True) == "the controller is paused"


def test_nothing_is_done_on_a_stale_snapshot():
    assert refusal(scale("sum", 1), age_s=31.0) == "the snapshot is 31s old, more than the 30s allowed"
    assert accepts(scale("sum", 1), age_s=30.0)
    assert refusal(scale("sum", 1), age_s=6.0, options=LoopOptions("10s", max_age="5s"))


@pytest.mark.parametrize("executors", [1, 3])
def test_nothing_is_done_about_an_operator_that_could_not_be_measured(executors):
    assert refusal(scale("sum", executors), unmeasured=["sum"]) == "the arrival rate of 'sum' was not measured"
    assert accepts(scale("sum", executors), unmeasured=["split"])


def test_a_pool_has_one_action_at_a_time():
    settling = "pool sum is still settling after the last action"
    assert refusal(scale("sum", 1), settling=frozenset(["sum"])) == settling
    assert refusal(scale("sum", 3, leaving=(0,)), settling=frozenset(["sum"])) == settling
    assert accepts(scale("sum", 1), settling=frozenset(["split"]))


def test_a_larger_scale_out_may_follow_one_that_is_under_way():
    settling = {"settling": frozenset(["sum"])}
    assert "still settling" in refusal(scale("sum", 3), **settling), "nothing shows that executors start"
    for phase in (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.FAILED):
        starting = Snapshot(1000.0, (), (ExecutorState("sum", 1, phase),))
        assert accepts(scale("sum", 3), snapshot=starting, **settling)
        assert "still settling" in refusal(scale("sum", 1), snapshot=starting, **settling)


def test_operators_that_share_a_pool_are_treated_as_one():
    shared = Plan(0, {"both": PoolPlan.of(2), "sum": PoolPlan.of(1)}, {"split": "both", "part": "both", "sum": "sum"})
    regroup = Regroup(operator="split", grouping="osg", reason="test")
    assert (
        refusal(regroup, plan=shared, settling=frozenset(["both"]))
        == "pool both is still settling after the last action"
    )
    assert "the arrival rate of 'part'" in refusal(scale("both", 3), plan=shared, unmeasured=["part"])
    assert "'both', which may have 2 at most" in refusal(scale("both", 3), plan=shared, budget=Budget(most={"part": 2}))


def test_the_cooldown_must_pass_between_two_actions():
    options = LoopOptions("10s", cooldown="1m")
    assert refusal(scale("sum", 3), options=options, last_action_s=950.0) == "cooldown of 1m: 10s left"
    assert accepts(scale("sum", 3), options=options, last_action_s=940.0)
    assert accepts(scale("sum", 3), options=options, last_action_s=None)


def test_decisions_of_one_turn_are_one_action():
    rulings, plan = judged(scale("sum", 3), scale("split", 3), options=LoopOptions(cooldown="1h"))
    assert [ruling for _, ruling, _ in rulings] == ["accepted", "accepted"]
    assert plan.revision == 2


@pytest.mark.parametrize(
    "options", [LoopOptions(dry_run=True), LoopOptions(cooldown="forever"), LoopOptions(cooldown=math.inf)]
)
def test_a_dry_run_judges_everything_and_changes_nothing(options):
    rulings, plan = judged(
        scale("sum", 3), scale("split", 4), options=options, budget=Budget(total=8), last_action_s=999.0
    )
    assert rulings == [
        ("sum", "dry-run", "dry run"),
        ("split", "refused", "9 executors in all, more than the budget of 8"),
    ]
    assert plan == PLAN


def test_records_of_one_key_are_not_spread_unless_somebody_merges_them():
    regroup = {name: Regroup(operator=name, grouping="load_aware", reason="test") for name in TOPOLOGY.operators}
    assert "'sum' is keyed by 'word' and no operator merges its partial results" in refusal(regroup["sum"])
    assert accepts(regroup["part"])
    assert accepts(regroup["split"])


@pytest.mark.parametrize(
    "decision",
    [
        scale("sum", 2),
        Move(operator="sum", transfers=(), reason="test"),
        Place(pool="sum", locations={}, reason="test"),
    ],
)
def test_a_decision_without_a_change_does_not_use_up_the_cooldown(decision):
    assert refusal(decision) == "nothing would change"


def test_a_decision_that_does_not_fit_the_plan_is_refused_in_the_plans_words():
    move = Move(operator="sum", transfers=(Transfer((0,), 1, 0),), reason="test")
    assert refusal(move) == "substream 0 of 'sum' is not on executor 1"
    assert "did you mean 'sum'" in refusal(scale("summ", 3))
    assert "they are not in the plan" in refusal(Place(pool="sum", locations={9: Location("n")}, reason="test"))


def test_what_is_not_measured_because_it_is_fused_speaks_against_nothing():
    fused = PLAN.after(Fuse(operators=("split", "part"), reason=""))
    assert accepts(scale("part", 3), plan=fused, unmeasured=("part",))
    assert accepts(Split(operators=("split", "part"), reason=""), plan=fused, unmeasured=("part",))
    assert (
        refusal(scale("part", 3), plan=fused, unmeasured=("split",)) == "the arrival rate of 'split' was not measured"
    )


def test_fusing_is_refused_while_one_of_the_operators_is_settling():
    fuse = Fuse(operators=("split", "part"), reason="")
    assert refusal(fuse, settling=frozenset({"split"})) == "pool split is still settling after the last action"


def test_operators_that_form_no_chain_are_not_fused_and_the_reason_is_said():
    fuse = Fuse(operators=("split", "sum"), reason="")
    assert refusal(fuse) == "'sum' must read the stream of 'split' and nothing else"


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (
            Fuse(operators=("split", "part"), reason=""),
            "the plant can neither fuse nor split operators; on Spark that needs streams in files",
        ),
        (Place(pool="sum", locations={0: Location("n")}, reason=""), "the plant cannot place executors"),
        (
            Regroup(operator="split", grouping="load_aware", reason=""),
            "the plant cannot group 'split' by 'load_aware'; it offers osg, by-key:",
        ),
        (
            Regroup(operator="part", grouping="osg", reason=""),
            "the plant cannot group 'part' by 'osg'; it offers none",
        ),
    ],
)
def test_what_the_plant_cannot_do_is_refused(decision, why):
    offered = Capabilities(groupings={"split": ("osg", "by-key:")})
    assert refusal(decision, capabilities=offered) == why
    assert accepts(Regroup(operator="split", grouping="by-key:word", reason=""), capabilities=offered)


def test_a_second_decision_on_the_same_pool_is_refused():
    rulings, plan = judged(scale("sum", 3), scale("sum", 4))
    assert rulings == [("sum", "accepted", ""), ("sum", "refused", "a second decision in the same turn about sum")]
    assert plan.size("sum") == 3


SHARED = Plan.initial(TOPOLOGY, 2, shared=[("split", "part")])
REGROUP = Regroup(operator="split", grouping="osg", reason="test")
MOVE = Move(operator="part", transfers=(Transfer((0,), 0, 1),), reason="test")


@pytest.mark.parametrize(
    "second",
    [REGROUP, MOVE, Fuse(operators=("split", "part"), reason=""), Hold(pool="split+part", reason="")],
    ids=lambda decision: decision.kind,
)
def test_a_pool_that_operators_share_is_decided_on_once_in_a_turn(second):
    for decisions in ([scale("split+part", 5), second], [second, scale("split+part", 5)]):
        rulings, plan = judged(*decisions, plan=SHARED)
        assert [ruling for _, ruling, _ in rulings][1:] == ["refused"]
        assert "a second decision in the same turn about" in rulings[1][2]
        assert plan.revision <= 1


def test_operators_that_share_a_pool_may_each_be_regrouped_or_have_substreams_moved():
    rulings, plan = judged(REGROUP, MOVE, plan=SHARED)
    assert [ruling for _, ruling, _ in rulings] == ["accepted", "accepted"]
    assert (plan.grouping["split"], plan.assignment["part"][0]) == ("osg", 1)


def test_bounds_hold_and_from_beyond_them_only_steps_towards_them_are_allowed():
    budget = Budget(least={"sum": 2}, most={"split": 2})
    assert refusal(scale("sum", 1), budget=budget) == "1 executor for pool 'sum', which needs 2 at least"
    assert refusal(scale("split", 3), budget=budget) == "3 executors for pool 'split', which may have 2 at most"
    outside = Plan.initial(TOPOLOGY, {"split": 6, "part": 1, "sum": 1})
    narrow = Budget(least={"sum": 4}, most={"split": 2})
    assert accepts(scale("split", 4), budget=narrow, plan=outside)
    assert accepts(scale("sum", 2), budget=narrow, plan=outside)


def test_the_budget_holds_and_from_beyond_it_only_steps_down_are_allowed():
    assert refusal(scale("sum", 3), budget=Budget(total=6)) == "7 executors in all, more than the budget of 6"
    beyond = Plan.initial(TOPOLOGY, 3)
    assert accepts(scale("sum", 2), budget=Budget(total=6), plan=beyond)
    assert refusal(scale("sum", 4), budget=Budget(total=6), plan=beyond)


def test_executors_that_one_operator_gives_up_may_go_to_another_in_the_same_turn():
    rulings, plan = judged(scale("sum", 3), scale("split", 1), budget=Budget(total=6))
    assert rulings == [("split", "accepted", ""), ("sum", "accepted", "")]
    assert plan.total == 6


def test_substreams_are_spread_by_the_loads_that_were_measured():
    heavy = {"sum": [9.0, 1.0, 1.0, 1.0, 1.0, 1.0]}
    [_], plan = arbitrate([scale("sum", 3)], context(plan=Plan.initial(TOPOLOGY, 1)), lambda: heavy)
    assert plan.assignment["sum"].count(plan.assignment["sum"][0]) == 1


operators = st.sampled_from(["split", "part", "sum", "nobody"])
number = st.integers(-1, 7)
decision = st.one_of(
    st.builds(scale, operators, number),
    st.builds(lambda o, n, leaving: scale(o, n, leaving=(leaving,)), operators, number, number),
    st.builds(
        lambda o, i, s, t: Move(operator=o, transfers=(Transfer((i,), s, t),), reason=""),
        operators,
        number,
        number,
        number,
    ),
    st.builds(lambda o: Regroup(operator=o, grouping="round_robin", reason=""), operators),
    st.builds(lambda o, n: Place(pool=o, locations={n: Location("a")}, reason=""), operators, number),
    st.builds(lambda o: Hold(pool=o, reason=""), operators),
)
situation = st.fixed_dictionaries(
    {
        "paused": st.booleans(),
        "age_s": st.sampled_from([0.0, 100.0]),
        "unmeasured": st.lists(operators, max_size=1),
        "settling": st.frozensets(operators, max_size=1),
        "budget": st.builds(
            lambda total, most: Budget(total, most={"sum": most}), st.integers(3, 9), st.integers(1, 5)
        ),
        "options": st.sampled_from([LoopOptions(), LoopOptions(cooldown="1m"), LoopOptions(dry_run=True)]),
        "last_action_s": st.sampled_from([None, 100.0, 990.0]),
    }
)


@settings(max_examples=200, deadline=None)
@given(st.lists(decision, max_size=5), situation)
def test_refused_decisions_never_change_the_plan_and_accepted_ones_never_leave_the_budget(decisions, situation):
    verdicts, plan = arbitrate(decisions, context(**situation))
    assert len(verdicts) == len(decisions)
    expected = PLAN
    for verdict in verdicts:
        assert verdict.why or verdict.ruling in (Ruling.ACCEPTED, Ruling.HELD)
        if verdict.ruling is Ruling.ACCEPTED:
            expected = expected.after(verdict.decision)
            assert verdict.revision == expected.revision
    assert plan == expected
    assert plan.total <= max(situation["budget"].total, PLAN.total)
    assert plan.size("sum") <= max(situation["budget"].maximum("sum"), PLAN.size("sum"))
    nothing_may_change = situation["paused"] or situation["age_s"] or situation["options"].dry_run
    assert not nothing_may_change or plan is PLAN
