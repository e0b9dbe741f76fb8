"""Run outcome: an operator that never ran is named, with what waits for it."""

import pytest

from rheostat.errors import PlantError
from rheostat.loop.turn import Turn
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.run_outcome import ServiceLog, check_all_ran
from rheostat.snapshot import ExecutorPhase, ExecutorState, OperatorState, Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split")])
PLAN = Plan.initial(TOPOLOGY)


def turn(time_s: float, completed: int, *pools: str) -> Turn:
    states = tuple(OperatorState(name, completed=completed) for name in TOPOLOGY.operators)
    active = tuple(ExecutorState(PoolName(pool), 0, ExecutorPhase.ACTIVE) for pool in pools)
    return Turn(time_s=time_s, before=PLAN, plan=PLAN, snapshot=Snapshot(time_s, states, active))


def test_without_stalled_operators_all_ran():
    check_all_ran({}, ServiceLog())


def test_an_operator_that_never_ran_is_named_with_its_rows_and_its_executors():
    log = ServiceLog()
    log(turn(1, 0, "split"))
    log(Turn(time_s=2, before=PLAN, plan=PLAN))
    with pytest.raises(PlantError) as refused:
        check_all_ran({"split": 12, "count": 44_220}, log)
    assert "operator 'split' finished no batch, 12 rows wait for it;" in str(refused.value)
    assert "operator 'count' finished no batch, 44,220 rows wait for it and no executor has served it." in str(
        refused.value
    )


def test_a_source_that_never_ran_is_named():
    with pytest.raises(PlantError, match="source 'in' finished no batch"):
        check_all_ran({"in": None}, ServiceLog())


def test_an_operator_that_completed_records_before_its_query_was_replaced_ran():
    log = ServiceLog()
    log(turn(1, 500))
    log(turn(2, 700))
    assert log.has_completed(OperatorName("split"))
    check_all_ran({"split": 3}, log)


def test_what_an_earlier_run_completed_does_not_count():
    log = ServiceLog()
    log(turn(1, 500))
    log(turn(2, 500))
    with pytest.raises(PlantError, match="'split' finished no batch, 3 rows"):
        check_all_ran({"split": 3}, log)
