"""The meter on state that a test makes up: what a snapshot has, for a topology and for an attached application."""

from types import SimpleNamespace

import pytest

from rheostat.clock import ManualClock
from rheostat.decision import Decision, Scale
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan, PoolPlan
from rheostat.policies.observation import Observation
from rheostat.policies.threshold import Threshold
from rheostat.sla import Goal
from rheostat.snapshot import Batch, ExecutorPhase, ExecutorState, Snapshot
from rheostat.spark.observe.application_meter import ApplicationMeter
from rheostat.spark.observe.cold_start import LONGEST_COLD_S
from rheostat.spark.observe.meter import SparkMeter
from rheostat.spark.observe.node_usage import NodeUsage
from rheostat.spark.observe.operators.operator_meter import operator_meters
from rheostat.spark.observe.status_store import (
    ActiveStage,
    ExecutorSummary,
    ReadMetrics,
    StageData,
    TaskData,
    TaskMetrics,
)
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.state.executor_book import ExecutorBook, Member, PoolSite, PoolSites, SiteBook, SparkExecutor
from rheostat.spark.state.spark_state import SparkState
from rheostat.spark.state.stage_placement import Unplaced
from rheostat.topology import Operator, Source, Topology

ACTIVE, LEAVING, WARM = ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING, ExecutorPhase.WARM
RUN = "27eb23d3-acda-4960-884d-2a191e071a86"


class FakeStore:
    """Executors with what their tasks have taken, and the stages of finished batches."""

    def __init__(self) -> None:
        self.held_s: dict[str, float] = {}
        self.batches: list[tuple[str, int, tuple[TaskData, ...]]] = []

    def executors(self) -> list[ExecutorSummary]:
        times = self.held_s.items()
        return [
            ExecutorSummary(id_, "10.0.0.1:1", slots=1, total_duration=round(1000 * held_s)) for id_, held_s in times
        ]

    def active_stages(self) -> list[ActiveStage]:
        return []

    def next_stage_id(self) -> int:
        return len(self.batches)

    def stage(self, stage_id: int) -> StageData:
        run, batch, _ = self.batches[stage_id]
        return StageData(stage_id, 0, "COMPLETE", f"x\nrunId = {run}\nbatch = {batch}")

    def tasks(self, stage: StageData) -> list[TaskData]:
        return list(self.batches[stage.stage_id][2])


def task(partition: int, executor: str, rows: int, run_ms: int = 250, held_ms: int = 250) -> TaskData:
    metrics = TaskMetrics(run_ms, ReadMetrics(), ReadMetrics(records_read=rows))
    return TaskData(partition, partition, executor, "SUCCESS", 0, metrics, duration=held_ms)


def record(batch: int, start_s: float, rows: int) -> BatchRecord:
    return BatchRecord(batch, start_s, start_s + 1.0, {"split": rows}, 0.8)


def pool_of(wanted: tuple[int, ...], **members: tuple[int, ExecutorPhase]) -> SiteBook:
    """Executors e1, e2, ... with their numbers and phases."""
    return SiteBook(
        PoolPlan(wanted, len(wanted)),
        {
            name[1:]: Member(SparkExecutor(name[1:], "10.0.0.1:1", 0, 1), phase, number)
            for name, (number, phase) in members.items()
        },
    )


def book_of(operators: dict[str, str], **pools: SiteBook) -> ExecutorBook:
    """Pools by name, and which of them serves each operator; "_" in a name stands for "+"."""
    named = {name.replace("_", "+"): book for name, book in pools.items()}
    sites = {PoolSite(name): book for name, book in named.items()}
    return ExecutorBook({s.pool: PoolSites(book.wanted, s) for s, book in sites.items()}, sites, operators)


class Metered:
    """A meter with all that it reads."""

    def __init__(self, book: ExecutorBook, operators, base: Snapshot | None = None) -> None:
        self.state, self.store, self.clock = SparkState(book, Unplaced()), FakeStore(), ManualClock(100.0)
        self.operators = operators
        nodes = NodeUsage({"10.0.0.1": "left"})
        self._meter = SparkMeter(self.state, operators, self.store, nodes, self.clock, base)

    def read(self, **held_s: float) -> Snapshot:
        """With executors e1, e2, ... held so long by their tasks."""
        self.store.held_s = {name[1:]: value for name, value in held_s.items()}
        return self._meter.read()


def named_runs(runtime) -> None:
    """Run ids as Spark writes them: one for each query."""
    for index, query in enumerate(runtime.queries.values()):
        query.query.runId = f"{index}{RUN[1:]}"


def busy_s(snapshot: Snapshot) -> dict[tuple[str, int], float | None]:
    return {(state.pool, state.id): state.busy_s for state in snapshot.executors}


SHARED = {"split": "split+count", "count": "split+count"}


def test_executors_appear_with_pool_number_phase_and_node(runtime):
    pool = pool_of((0, 1), e1=(0, ACTIVE), e2=(-1, WARM), e3=(4, LEAVING))
    metered = Metered(book_of(SHARED, split_count=pool), operator_meters(runtime, cold_batches=0))
    assert [(s.id, s.phase.value, s.node, s.instance) for s in metered.read(e1=0.0).executors] == [
        (-1, "warm", "left", "2"),
        (0, "active", "left", "1"),
        (1, "requested", None, None),
        (4, "leaving", "left", "3"),
    ]


def test_an_executor_is_busy_for_the_share_of_work_in_the_sampled_batches(runtime):
    named_runs(runtime)
    pools = {"split": pool_of((0,), e1=(0, ACTIVE)), "count": pool_of((0,), e2=(0, ACTIVE), e3=(-1, WARM))}
    metered = Metered(book_of({"split": "split", "count": "count"}, **pools), operator_meters(runtime, cold_batches=0))
    runtime.records[:] = [record(0, 10.0, 40)]
    tasks = (task(0, "2", 40, run_ms=250, held_ms=1000),)
    metered.store.batches = [(runtime.queries["count"].query.runId, 0, tasks)]
    metered.read(e1=0.0, e2=0.0, e3=0.0)
    assert busy_s(metered.read(e1=8.0, e2=8.0, e3=8.0)) == {
        ("split", 0): 8.0,  # not sampled: all of it
        ("count", 0): 2.0,
        ("count", -1): 0.0,  # warming up
    }


def test_the_rows_of_an_executor_are_those_of_all_operators_that_it_serves(runtime):
    named_runs(runtime)
    pool = pool_of((0, 1), e1=(0, ACTIVE), e2=(1, ACTIVE))
    metered = Metered(book_of(SHARED, split_count=pool), operator_meters(runtime, cold_batches=0))
    runtime.records[:] = [record(0, 10.0, 40)]
    first, second = (query.query.runId for query in runtime.queries.values())
    metered.store.batches = [(first, 0, (task(0, "1", 40),))]
    assert metered.read(e1=0.0, e2=0.0).executors[0].completed is None, "one of the operators is not sampled yet"
    metered.store.batches.append((second, 0, (task(0, "1", 30), task(1, "2", 10))))
    executors = metered.read(e1=1.0, e2=1.0).executors
    assert [(state.arrived, state.completed, state.queued) for state in executors] == [(70, 70, 0), (10, 10, 0)]


def test_counters_of_shared_pools_continue_after_a_restart_of_the_driver(runtime):
    named_runs(runtime)
    before = ExecutorState("split+count", 0, ACTIVE, arrived=75, completed=70, busy_s=12.0)
    base = Snapshot(1.0, (), executors=(before,))
    book = book_of(SHARED, split_count=pool_of((0,), e1=(0, ACTIVE)))
    metered = Metered(book, operator_meters(runtime, base, cold_batches=0), base)
    first, second = (query.query.runId for query in runtime.queries.values())
    runtime.records[:] = [record(3, 10.0, 10)]
    metered.store.batches = [(first, 3, (task(0, "1", 10),)), (second, 3, (task(0, "1", 10),))]
    (state,) = metered.read(e1=0.5).executors
    assert (state.arrived, state.completed, state.busy_s) == (90, 90, 12.0)


def test_the_newest_book_counts(runtime):
    metered = Metered(
        book_of(SHARED, split_count=pool_of((0,), e1=(0, ACTIVE))), operator_meters(runtime, cold_batches=0)
    )
    metered.read(e1=0.0)
    metered.state.book = book_of(SHARED, split_count=pool_of((1,), e1=(1, ACTIVE)))
    assert busy_s(metered.read(e1=3.0)) == {("split+count", 1): 3.0}


def test_on_a_local_master_executors_have_no_counters(runtime):
    plan = Plan.initial(runtime.topology, 2)
    snapshot = Metered(ExecutorBook.of_local_master(plan), operator_meters(runtime, cold_batches=0)).read()
    assert snapshot.executors_of("split") == (ExecutorState("split", 0, ACTIVE), ExecutorState("split", 1, ACTIVE))
    assert [state.executor for state in snapshot.substreams_of("count")] == [0, 1]
    unknown = "what each executor of pool 'split' does is unknown: on a local master one process is all of them"
    assert unknown in snapshot.problems


def test_operators_have_the_grouping_in_force(runtime):
    book = book_of(SHARED, split_count=pool_of((0,)))
    book.groupings["split"] = "load-aware"
    snapshot = Metered(book, operator_meters(runtime, cold_batches=0)).read()
    assert (snapshot.operators["split"].grouping, snapshot.operators["count"].grouping) == ("load-aware", "key")


def test_a_failed_query_is_told_once_and_first(runtime):
    runtime.failure = ValueError("operator 'split' failed: no such word")
    problems = (
        Metered(book_of(SHARED, split_count=pool_of((0,))), operator_meters(runtime, cold_batches=0)).read().problems
    )
    assert problems.count("operator 'split' failed: no such word") == 1
    assert problems[0] == "operator 'split' failed: no such word"


APPLICATION = Topology("app", [Source("queries"), Operator("application", inputs="queries")])


def application(book: ExecutorBook, base: Snapshot | None = None, cold_batches: int = 0, **running) -> Metered:
    queries = SimpleNamespace(running=running, down={}, update=list)
    return Metered(book, [ApplicationMeter(APPLICATION, queries, base, cold_batches)], base)


def attached(wanted: tuple[int, ...], **members: tuple[int, ExecutorPhase]) -> ExecutorBook:
    return book_of({"application": "application"}, application=pool_of(wanted, **members))


def test_executors_of_an_application_are_busy_while_tasks_hold_them():
    metered = application(attached((0, 1), e7=(0, ACTIVE), e9=(1, ACTIVE)))
    metered.read(e7=100.0, e9=50.0)
    snapshot = metered.read(e7=103.0, e9=51.0)
    assert busy_s(snapshot) == {("application", 0): 3.0, ("application", 1): 1.0}
    assert snapshot.executors[0].completed is None


def test_executors_of_other_profiles_do_not_count_as_the_applications():
    metered = application(attached((0,), e1=(0, ACTIVE)))
    metered.read(e1=0.0, e2=0.0)
    snapshot = metered.read(e1=1.0, e2=100.0)
    assert busy_s(snapshot) == {("application", 0): 1.0}
    assert [state.instance for state in snapshot.executors] == ["1"]


def test_the_busy_time_of_an_applications_executors_continues_after_a_restart():
    metered = application(attached((0, 1), e1=(0, ACTIVE), e2=(1, ACTIVE)))
    metered.read(e1=0.0, e2=0.0)
    metered.state.book = attached((0,), e1=(0, ACTIVE))
    before = metered.read(e1=6.0)
    again = application(attached((0,), e0=(0, ACTIVE)), base=before)
    again.read(e0=0.0)
    assert busy_s(again.read(e0=2.5)) == {("application", 0): 8.5}


def test_without_a_query_rows_are_unknown_and_the_reason_is_told():
    snapshot = application(attached((0,))).read()
    assert snapshot.operators["application"].arrived is None
    assert snapshot.problems[0] == "no streaming query is active"
    assert [stream.name for stream in snapshot.streams] == ["queries"]


def test_the_use_of_other_machines_is_said_to_be_unknown():
    metered = application(attached((0,), e1=(0, ACTIVE)))
    assert "CPU and memory use of left is unknown" in metered.read(e1=0.0).problems[-1]
    assert [(node.name, node.slots) for node in metered.read(e1=0.0).nodes] == [("left", 1)]


@pytest.mark.parametrize("number", [0, 1])
def test_a_requested_executor_keeps_the_counters_of_its_number(number):
    metered = application(attached((0, 1), e1=(0, ACTIVE), e2=(1, ACTIVE)))
    metered.read(e1=0.0, e2=0.0)
    metered.read(e1=3.0, e2=3.0)
    metered.state.book = attached((0, 1), **{f"e{2 - number}": (1 - number, ACTIVE)})
    state = next(state for state in metered.read(e1=3.0, e2=3.0).executors if state.id == number)
    assert (state.phase, state.busy_s) == (ExecutorPhase.REQUESTED, 3.0)


class Trickle:
    """A word count on one executor for each operator, read every `period_s`. Each batch is as slow as cold ones are."""

    def __init__(self, runtime, period_s: float = 2.0) -> None:
        named_runs(runtime)
        self.runtime, self._period_s = runtime, period_s
        pools = {"split": pool_of((0,), e1=(0, ACTIVE)), "count": pool_of((0,), e2=(0, ACTIVE))}
        self.metered = Metered(book_of({"split": "split", "count": "count"}, **pools), operator_meters(runtime))
        self.plan = Plan.initial(runtime.topology, 1)
        self._measurer = Measurer(runtime.topology)
        self._policy = Threshold(Goal(runtime.topology))
        self._held_s = 0.0
        self.turn(held_s=0.0)

    def turn(self, held_s: float, rows: int | None = None) -> tuple[Snapshot, list[Decision]]:
        """One turn of the loop. Tasks held executors so long, and a batch of `rows` was committed, or none."""
        metered, records = self.metered, self.runtime.records
        metered.clock.wait_until(metered.clock.now() + self._period_s)
        self._held_s += held_s
        if rows is not None:
            records.append(record(len(records), metered.clock.now() - 1.0, rows))
            held_ms = round(1000 * held_s)
            for executor, query in enumerate(self.runtime.queries.values(), 1):
                tasks = (task(0, str(executor), rows, held_ms, held_ms),)
                metered.store.batches.append((query.query.runId, records[-1].batch, tasks))
        snapshot = metered.read(e1=self._held_s, e2=self._held_s)
        measures = self._measurer.update(snapshot, self.plan)
        return snapshot, list(self._policy.decide(Observation(snapshot, measures, self.plan)))


def scale_outs(decisions: list[Decision]) -> list[Scale]:
    return [each for each in decisions if isinstance(each, Scale) and each.executors > 1]


def test_five_words_on_cold_executors_are_no_load(runtime):
    trickle = Trickle(runtime)
    for rows in (None, 2, None, 2, None, 1):
        snapshot, decisions = trickle.turn(held_s=2.0, rows=rows)
        assert not scale_outs(decisions)
        assert not any(state.busy_s for state in snapshot.operator_states)
        assert not any(state.busy_s for state in snapshot.executors)
    for _ in range(5):
        snapshot, decisions = trickle.turn(held_s=0.0)
        assert not scale_outs(decisions)


def test_a_cold_pool_that_has_nothing_to_do_is_known_to_be_idle(runtime):
    trickle = Trickle(runtime)
    trickle.turn(held_s=2.0, rows=5)
    snapshot, _ = trickle.turn(held_s=0.0)
    assert busy_s(snapshot) == {("split", 0): 0.0, ("count", 0): 0.0}


def test_rows_are_counted_while_their_cost_is_unknown(runtime):
    trickle = Trickle(runtime)
    snapshot, _ = trickle.turn(held_s=2.0, rows=5)
    count = snapshot.operators["count"]
    assert (count.arrived, count.completed, count.busy_s, count.batch) == (5, 5, None, Batch(1, 1.0, None, None))
    assert snapshot.executors_of("count")[0].completed == 5
    assert "operator 'count' is warming up: its next 2 batches are no evidence of what its work costs" in (
        snapshot.problems
    )


def test_what_is_unknown_is_named_also_when_a_whole_cold_start_is_between_two_readings(runtime):
    trickle = Trickle(runtime, period_s=20.0)
    runtime.records[:] = [record(number, 101.0 + number, 5) for number in range(4)]
    snapshot, _ = trickle.turn(held_s=4.0, rows=5)
    assert busy_s(snapshot) == {("split", 0): None, ("count", 0): None}
    assert {f"the work of operator {name!r} is unknown: its executors were cold" for name in ("split", "count")} <= set(
        snapshot.problems
    )
    snapshot, _ = trickle.turn(held_s=0.0)
    assert not any("cold" in problem for problem in snapshot.problems)


def test_a_load_from_the_very_start_is_seen_after_a_few_batches(runtime):
    trickle = Trickle(runtime)
    turns = [trickle.turn(held_s=2.0, rows=1000) for _ in range(6)]
    assert [bool(scale_outs(decisions)) for _, decisions in turns] == [False] * 4 + [True] * 2
    assert not any("warming up" in problem for problem in turns[-1][0].problems)


def test_a_first_batch_that_does_not_end_is_seen_as_load_after_a_while(runtime):
    trickle = Trickle(runtime)
    turns = [trickle.turn(held_s=2.0) for _ in range(20)]
    first = next(number for number, (_, decisions) in enumerate(turns) if scale_outs(decisions))
    assert first * 2.0 == pytest.approx(LONGEST_COLD_S, abs=2.0)


def test_an_executor_is_not_busy_with_its_warm_up(runtime):
    named_runs(runtime)
    operators = {"split": "split", "count": "count"}
    warming = {"split": pool_of((0,), e1=(0, ACTIVE)), "count": pool_of((0,), e2=(0, ACTIVE), e3=(-1, WARM))}
    metered = Metered(book_of(operators, **warming), operator_meters(runtime))
    metered.read(e1=0.0, e2=0.0, e3=0.0)
    serving = warming | {"count": pool_of((0, 1), e2=(0, ACTIVE), e3=(1, ACTIVE))}
    metered.state.book = book_of(operators, **serving)
    snapshot = metered.read(e1=0.0, e2=0.0, e3=8.0)
    assert not busy_s(snapshot)["count", 1]
    assert busy_s(metered.read(e1=0.0, e2=0.0, e3=8.0))["count", 1] == 0.0


def test_a_new_executor_of_an_application_hides_its_busy_time_until_a_batch_has_ended():
    batches: list[BatchRecord] = []
    run = SimpleNamespace(id="r", run_id="r", name="r", trigger_s=0.0, earlier=(record(0, 10.0, 5),))
    run.topic_load = lambda now_s: None
    run.new_batches = lambda: [batches.pop() for _ in batches]
    run.is_processing = lambda: False
    metered = application(attached((0,), e1=(0, ACTIVE)), cold_batches=1, r=run)
    metered.read(e1=0.0)
    assert busy_s(metered.read(e1=2.0)) == {("application", 0): 2.0}
    metered.state.book = attached((0, 1), e1=(0, ACTIVE), e2=(1, ACTIVE))
    metered.read(e1=4.0, e2=0.0)
    snapshot = metered.read(e1=6.0, e2=2.0)
    assert snapshot.operators["application"].busy_s is None
    assert busy_s(snapshot) == {("application", 0): None, ("application", 1): None}
    batches.append(record(1, 12.0, 5))
    metered.read(e1=8.0, e2=4.0)
    assert busy_s(metered.read(e1=9.0, e2=5.0)) == {("application", 0): 5.0, ("application", 1): 1.0}
