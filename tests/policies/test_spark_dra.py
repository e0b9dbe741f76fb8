import pytest

from rheostat.decision import Scale
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Batch, ExecutorPhase, ExecutorState, OperatorState, Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("work", inputs="in")])


class Loop:
    """Carries out what the policy decides at once; executors work all the time unless they are said to be idle."""

    def __init__(self, size=1, budget=None, **options):
        self.goal = Goal(TOPOLOGY, budget=budget or Budget())
        self.policy = make_policy("spark-dra", self.goal, options)
        self.plan = Plan.initial(TOPOLOGY, size)
        self.decision = None

    def turn(self, time_s, queued, batch=None, idle=(), settling=False):
        executors = tuple(
            ExecutorState("work", e, ExecutorPhase.ACTIVE, busy_s=0.0 if e in idle else time_s)
            for e in self.plan.pools["work"].executors
        )
        snapshot = Snapshot(time_s, (OperatorState("work", queued=queued, batch=batch),), executors)
        measures = Measures(1.0, {"work": OperatorMeasures(queued=queued)})
        pools = frozenset(["work"] if settling else [])
        [self.decision] = self.policy.decide(Observation(snapshot, measures, self.plan, pools, self.goal.budget))
        self.plan = self.plan.after(self.decision)
        return self.plan.size("work")


def test_requests_double_for_as_long_as_tasks_wait():
    loop = Loop()
    assert [loop.turn(float(t), 100) for t in range(6)] == [1, 2, 4, 8, 16, 32]


def test_it_starts_with_one_again_when_no_task_waits():
    loop = Loop()
    assert [loop.turn(float(t), 100) for t in range(4)] == [1, 2, 4, 8]
    assert loop.turn(4.0, 3) == 8
    assert [loop.turn(float(t), 100) for t in (5, 6, 7)] == [8, 9, 11]


@pytest.mark.parametrize(
    ("options", "most"), [({}, 10), ({"ratio": 0.5}, 5), ({"slots": 4}, 3), ({"slots": 4, "ratio": 0.33}, 1)]
)
def test_it_never_asks_for_more_than_the_tasks_can_use(options, most):
    loop = Loop(**options)
    assert max(loop.turn(float(t), 10) for t in range(10)) == most


def test_timeouts_can_be_changed():
    loop = Loop(backlog_timeout="2s", sustained_timeout="3s")
    assert [loop.turn(float(t), 100) for t in range(9)] == [1, 1, 2, 2, 2, 4, 4, 4, 8]


def test_requests_of_a_settling_pool_are_made_afterwards():
    loop = Loop()
    assert [loop.turn(float(t), 100, settling=t < 4) for t in range(5)] == [1, 1, 1, 1, 16]


def batches(count, each_s, tasks):
    return Batch(count, count * each_s, tasks=count * tasks)


def test_with_batches_the_last_tasks_wait_for_the_share_of_the_batch_that_they_do_not_fit_in():
    loop = Loop(4)
    loop.turn(0.0, 50, batches(1, 4.0, 16))
    loop.turn(4.0, 50, batches(2, 4.0, 16))
    assert loop.plan.size("work") == 11, "16 tasks on 4 slots: 3 s of 4 s, requests of 1, 2 and 4"
    assert loop.decision.reason == (
        "16 tasks, which 16 executors can run at once, the last one waits 3s, limit 1s: scale out 4 -> 11"
    )
    loop.turn(8.0, 50, batches(3, 4.0, 16))
    assert loop.plan.size("work") == 12, "5/16 of 4 s is 1.25 s: one more"


def test_each_batch_starts_with_a_request_for_one():
    loop = Loop(4)
    loop.turn(0.0, 50, batches(1, 1.5, 16))
    assert loop.turn(3.0, 50, batches(3, 1.5, 16)) == 6, "two batches, whose last tasks wait 1.1 s"


def test_short_batches_add_nothing_however_long_the_backlog():
    loop = Loop(4)
    assert [loop.turn(2.0 * t, 1e6, batches(2 * t + 1, 1.0, 16)) for t in range(9)] == [4] * 9


def test_as_many_tasks_as_slots_add_nothing_unless_partitions_are_given():
    turns = [(10.0 * t, 1e6, batches(t + 1, 10.0, 4)) for t in range(5)]
    loop, told = Loop(4), Loop(4, partitions=8)
    assert [loop.turn(*turn) for turn in turns] == [4] * 5
    assert [told.turn(*turn) for turn in turns][-1] == 8


def test_a_long_batch_counts_while_it_runs_and_only_once():
    loop = Loop(1)
    loop.turn(0.0, 50, batches(1, 1.0, 2))
    loop.turn(1.0, 50, batches(2, 1.0, 64))
    sizes = [loop.turn(float(t), 50, batches(2, 1.0, 64)) for t in range(2, 6)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 4


def test_idle_executors_leave_after_a_minute_those_that_work_stay():
    loop = Loop(4)
    sizes = [loop.turn(10.0 * t, 0, idle=(1, 3)) for t in range(8)]
    assert sizes == [4] * 6 + [2] * 2
    assert loop.plan.pools["work"].executors == (0, 2)


def test_idle_executors_that_tasks_need_stay():
    loop = Loop(4)
    assert [loop.turn(10.0 * t, 3, idle=(0, 1, 2, 3)) for t in range(9)][-1] == 3


def test_the_budget_bounds_it():
    loop = Loop(budget=Budget(total=3, least={"work": 2}))
    assert [loop.turn(float(t), 100) for t in range(5)][-1] == 3
    assert [loop.turn(100.0 + 10 * t, 0, idle=(0, 1, 2, 3, 4)) for t in range(9)][-1] == 2


def test_without_a_backlog_it_holds():
    loop = Loop(3)
    for t in range(5):
        loop.turn(float(t), None)
        assert not isinstance(loop.decision, Scale)
