"""Groupings in the event loop: held against `rheostat.grouping`, and what they bring."""

from collections import deque

import numpy as np
import pytest
from plants import drained, executor_row, fixed, one_operator, plant, realise, row
from scipy import stats

from rheostat.decision import Regroup, Scale
from rheostat.errors import ConfigError
from rheostat.grouping import BatchGreedy, Hashes, LoadAware, OsgTask, Scheduler
from rheostat.load import Step
from rheostat.load.skew import zipf
from rheostat.plan import Plan
from rheostat.sim.model import Batches, ClusterModel, OperatorModel, Osg, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant
from rheostat.topology import Operator, Source, Topology

VALUES = 200
COST = np.random.default_rng(0).permutation(np.linspace(1.0, 64.0, VALUES))


def sensitive(executors, grouping, mean_s=0.01, **more):
    """An operator whose time depends on the value alone, `mean_s` in the mean under Zipf 1.5."""
    scale_s = mean_s / float(zipf(VALUES, 1.5) @ COST)
    service = Service(mean=scale_s, distribution="fixed", cost_by_value=tuple(COST))
    return OperatorModel(service=service, executors=executors, grouping=grouping, **more)


def under_zipf(model, load=0.8, **more):
    rate = load * model.executors / 0.01
    return plant(one_operator(), model, rate=rate, weights=zipf(VALUES, 1.5), **more)


# --- against rheostat.grouping ----------------------------------------------------------------------------------


class Events:
    """Lets a plant of one operator go from event to event, and says what each was."""

    def __init__(self, it):
        self.it, self.state = it, it.cluster.state

    def servers(self):
        return self.state.server.executor[: int(self.state.operators[0].servers)].tolist()

    def next_time_s(self):
        return float(self.state.heap[0].time)

    def step(self):
        """("came", position, value) or ("done", position), as (kind, position of the executor, value or None)."""
        rows = self.state.executors[self.servers()].copy()
        self.it.cluster.advance(self.next_time_s())
        now = self.state.executors[self.servers()]
        for position, (before, after) in enumerate(zip(rows, now, strict=True)):
            if after.completed > before.completed:
                return "done", position, None
            if after.arrived > before.arrived:
                newest = after.queue_tail if after.queued else after.current
                return "came", position, int(self.state.tuples.value[newest])
        return "nothing", None, None


@pytest.mark.parametrize(("window", "least"), [(0, 16), (0.4, 8)])
def test_osg_schedules_every_record_as_the_grouping_in_python_does(window, least):
    """After 400 records the first executor has half its speed."""
    it = under_zipf(sensitive(3, "osg", osg=Osg(window=window, least=least, tolerance=0.4)), resolution_s=1000.0)
    state, events = it.cluster.state, Events(it)
    hashes = Hashes(tuple(map(int, state.hashes.factor)), tuple(map(int, state.hashes.offset)), 55)
    scheduler, tasks = Scheduler(3), [OsgTask(hashes, window, least, 0.4) for _ in range(3)]
    queues = [deque() for _ in range(3)]
    arrivals = 0
    while arrivals < 800:
        if arrivals == 400:
            state.executors.speed[0] = 0.5
        now_s, busy_s = events.next_time_s(), state.executors.busy_s[:3].copy()
        kind, position, value = events.step()
        if kind == "came":
            assert position == scheduler.choose(value)
            queues[position].append((value, scheduler.take_requests()))
            arrivals += 1
        elif kind == "done":
            value, requests = queues[position].popleft()
            took_s = state.executors.busy_s[position] - busy_s[position]
            sent = tasks[position].completed(np.array([value]), took_s, now_s=now_s)
            for request in requests:
                scheduler.receive_reply(tasks[position].reply(request))
            for sketch in sent:
                scheduler.receive_sketch(position, sketch)
    assert state.loads.load_s[:3] == pytest.approx(scheduler.loads_s)
    assert scheduler.epoch > 5, "there were sketches, requests and replies in it"


def test_load_aware_chooses_every_executor_as_the_grouping_in_python_does():
    model = OperatorModel(
        service=Service(mean=0.013, distribution="uniform"), executors=3, grouping="load-aware", interval="2s"
    )
    cluster = ClusterModel(odd_share=0.5, odd_speed=0.5)
    it = plant(one_operator(), model, rate=120.0, cluster=cluster, seed=5, resolution_s=1000.0)
    assert len(set(it.cluster.state.executors.speed[:3])) == 2
    events, grouping, read_s = Events(it), LoadAware(3, 2.0), 0.0
    marks = np.zeros((3, 2))
    arrivals = reads = 0
    service_s = [None] * 3
    while arrivals < 1500:
        now_s = events.next_time_s()
        rows = events.state.executors[events.servers()]
        working = np.where(rows.current != -1, now_s - rows.started, 0.0)
        seen = np.column_stack([rows.busy_s + working, rows.completed])
        kind, position, _ = events.step()
        if kind != "came":
            continue
        arrivals += 1
        if now_s - read_s >= 2.0:
            busy_s, done = (seen - marks).T
            service_s = [b / n if n else old for b, n, old in zip(busy_s, done, service_s, strict=True)]
            grouping.read(busy_s / (now_s - read_s), service_s)
            marks, read_s, reads = seen, now_s, reads + 1
        assert position == grouping.choose()
    assert reads > 4


# --- what they bring --------------------------------------------------------------------------------------------


BEHIND = Topology("behind", [Source("in"), Operator("send", inputs="in"), Operator("op", inputs="send")])


def mean_latency_s(seed, senders, grouping, **osg):
    """At an operator of four executors, behind `senders` that each schedule their own records."""
    operators = {
        "send": fixed(1e-4, executors=senders),
        "op": sensitive(4, grouping, osg=Osg(schedulers=senders, **osg)),
    }
    it = plant(BEHIND, operators, rate=320.0, weights=zipf(VALUES, 1.5), seed=seed)
    it.cluster.advance(600.0)
    return float(row(it).latency_sum / row(it).completed)


def is_less(one, other):
    """Paired by seed, the same arrivals and values for both, so that the difference has a narrow interval."""
    return stats.ttest_rel(one, other, alternative="less").pvalue < 1e-4


def test_under_zipf_values_osg_completes_records_sooner_than_round_robin():
    osg = [mean_latency_s(seed, 1, "osg") for seed in range(10)]
    in_turn = [mean_latency_s(seed, 1, "round-robin") for seed in range(10)]
    assert is_less(osg, in_turn)


def test_several_senders_with_osg_complete_records_sooner_than_several_that_go_round_robin():
    """A scheduler that never learns goes on in its own turn, as senders do that know nothing of each other."""
    osg = [mean_latency_s(seed, 3, "osg") for seed in range(10)]
    each_in_turn = [mean_latency_s(seed, 3, "osg", window=1e9) for seed in range(10)]
    assert is_less(osg, each_in_turn)


def test_osg_gives_slow_executors_less():
    """Round robin would need more than there is: half the records at half the speed."""
    cluster = ClusterModel(odd_share=0.5, odd_speed=0.5)
    it = under_zipf(sensitive(2, "osg"), load=0.7, cluster=cluster, seed=3)
    assert sorted(it.cluster.state.executors.speed[:2]) == [0.5, 1.0]
    it.cluster.advance(600.0)
    slow, fast = sorted((executor_row(it, n) for n in range(2)), key=lambda each: each.speed)
    assert slow.busy_s == pytest.approx(fast.busy_s, rel=0.02)
    assert fast.completed == pytest.approx(2 * slow.completed, rel=0.05)


def in_batches(grouping, **more):
    return sensitive(4, grouping, queues="batches", batches=Batches(fixed="200ms", per_task=0), **more)


def test_batch_greedy_is_as_the_grouping_in_python_once_costs_are_known():
    it = under_zipf(in_batches("batch-greedy"), resolution_s=1000.0)
    it.cluster.advance(600.0)
    state = it.cluster.state
    while not state.operators[0].batch_rows:
        it.cluster.advance(float(state.heap[0].time))
    values, executors = [], []
    i = int(state.operators[0].batch_head)
    while i != -1:
        values.append(int(state.tuples.value[i]))
        executors.append(int(state.tuples.executor[i]))
        i = int(state.tuples.next[i])
    exact = BatchGreedy(4, Exact()).assign(np.array(values))
    loads = [np.bincount(np.unique(each, return_inverse=True)[1], COST[values], 4) for each in (executors, exact)]
    assert len(values) > 20
    assert loads[0].max() <= 1.1 * loads[1].max()


class Exact:
    def seconds(self, values):
        return COST[values]


def test_batches_dealt_out_as_a_whole_end_sooner_than_those_dealt_out_one_by_one():
    def durations_s(grouping):
        found = []
        for seed in range(5):
            it = under_zipf(in_batches(grouping), seed=seed)
            it.cluster.advance(900.0)
            found.append(float(row(it).latency_sum / row(it).completed))
        return found

    whole, one_by_one, in_turn = map(durations_s, ("batch-greedy", "osg", "round-robin"))
    assert is_less(whole, one_by_one)
    assert is_less(one_by_one, in_turn)


def test_batch_greedy_is_refused_where_there_are_no_batches():
    with pytest.raises(ConfigError, match="'batch-greedy' assigns whole micro-batches: give it queues = 'batches'"):
        under_zipf(sensitive(2, "batch-greedy"))


# --- changes ----------------------------------------------------------------------------------------------------


def regrouped(plan, grouping, operator="op"):
    return plan.after(Regroup(operator=operator, reason="test", grouping=grouping))


def scaled(plan, executors, operator="op"):
    return plan.after(Scale(pool=operator, reason="test", executors=executors))


def test_a_grouping_is_switched_while_records_are_under_way():
    it = plant(
        one_operator(), sensitive(3, "round-robin"), rate=Step([(0, 200.0), (60, 0.0)]), weights=zipf(VALUES, 1.5)
    )
    plan = Plan.initial(it.topology, 3)
    for until_s, grouping in ((10, "osg"), (20, "load-aware"), (30, "key"), (40, "osg"), (50, "random")):
        it.cluster.advance(until_s)
        plan = regrouped(plan, grouping)
        it.apply(plan)
        assert it.observe().operators["op"].grouping == grouping
    assert drained(it, 200.0)


def test_telling_the_same_grouping_again_forgets_nothing():
    it = under_zipf(sensitive(2, "round-robin"))
    plan = regrouped(Plan.initial(it.topology, 2), "osg")
    it.apply(plan)
    it.cluster.advance(120.0)
    epoch = int(it.cluster.state.schedulers.epoch[0])
    assert epoch > 1
    it.apply(scaled(plan, 2))
    assert it.cluster.state.schedulers.epoch[0] == epoch


@pytest.mark.parametrize("grouping", ["osg", "load-aware"])
def test_records_reach_executors_that_come_and_none_that_went(grouping):
    it = plant(
        one_operator(),
        sensitive(2, grouping, interval="1s"),
        rate=Step([(0, 150.0), (90, 0)]),
        weights=zipf(VALUES, 1.5),
    )
    plan = Plan.initial(it.topology, 2)
    for executors in (20, 3, 5):
        it.cluster.advance(it.cluster.now_s + 15.0)
        plan = scaled(plan, executors)
        realise(it, plan)
        before = {number: int(executor_row(it, number).arrived) for number in plan.pool("op").executors}
        it.cluster.advance(it.cluster.now_s + 10.0)
        assert all(executor_row(it, number).arrived > seen for number, seen in before.items())
    assert drained(it, 300.0)


def test_osg_begins_anew_when_the_degree_changes_and_keeps_what_stays():
    it = under_zipf(sensitive(2, "osg"))
    it.cluster.advance(60.0)
    tasks, cells = it.cluster.state.tasks, it.cluster.state.cells
    assert tasks.known[:2].tolist() == [1, 1]
    realise(it, scaled(Plan.initial(it.topology, 2), 3))
    assert tasks.known[:3].tolist() == [1, 1, 0]
    assert it.cluster.state.schedulers.state[0] == 0
    assert cells.sent_count[: 3 * 165].reshape(3, 165).sum(axis=1).astype(bool).tolist() == [True, True, False]
    it.cluster.advance(it.cluster.now_s + 60.0)
    assert tasks.known[:3].tolist() == [1, 1, 1]
    assert it.cluster.state.schedulers.state[0] == 3


def test_osg_works_in_micro_batches():
    """A batch ends with its slowest task, so an even spread makes shorter batches."""
    durations = {}
    for grouping in ("osg", "round-robin"):
        model = sensitive(4, grouping, queues="batches", batches=Batches(fixed="50ms", per_task=0))
        it = under_zipf(model, load=0.6, seed=7)
        it.cluster.advance(600.0)
        durations[grouping] = float(row(it).batch_duration_s / row(it).batch_count)
    assert durations["osg"] < durations["round-robin"]


MERGED = Topology(
    "merged",
    [
        Source("in"),
        Operator("count", inputs="in", key="word", substreams=8, merge="sum"),
        Operator("sum", inputs="count", key="word", substreams=8),
    ],
)


def test_a_keyed_operator_with_a_merge_behind_it_can_be_spread_and_gathered_again():
    it = plant(MERGED, fixed(0.01, executors=3), rate=Step([(0, 100.0), (40, 0)]), weights=[5, 1, 1, 1, 1, 1, 1, 1])
    plan = Plan.initial(MERGED, 3)
    it.cluster.advance(10.0)
    by_key = np.array([int(executor_row(it, n, "count").arrived) for n in range(3)])
    assert np.ptp(by_key) > 50
    plan = regrouped(plan, "round-robin", "count")
    it.apply(plan)
    it.cluster.advance(20.0)
    in_turn = np.array([int(executor_row(it, n, "count").arrived) for n in range(3)]) - by_key
    assert np.ptp(in_turn) <= 1
    plan = scaled(plan, 2, "count")
    realise(it, plan)
    it.apply(regrouped(plan, "key", "count"))
    assert drained(it, 120.0)
    assert it.cluster.state.world[0].disorder == 0


def test_a_keyed_operator_without_a_merge_is_never_spread():
    it = plant(MERGED)
    with pytest.raises(ConfigError, match="operator 'sum' is keyed by 'word' and nothing merges behind it"):
        it.apply(regrouped(Plan.initial(MERGED), "osg", "sum"))
    with pytest.raises(ConfigError, match="operator 'sum' is keyed by 'word'"):
        SimModel(MERGED, operators={"sum": OperatorModel(grouping="round-robin")})


def test_the_hashes_of_osg_change_nothing_else_that_is_drawn():
    runs = []
    for osg in (Osg(), Osg(epsilon=0.01, delta=0.001)):
        model = {"op": OperatorModel(service=Service(mean=0.01), executors=2, osg=osg)}
        it = SimPlant(SimModel(one_operator(), {"in": SourceModel()}, model), np.random.default_rng(9))
        it.cluster.advance(50.0)
        runs.append((int(row(it).arrived), float(row(it).latency_sum)))
    assert runs[0] == runs[1]


def test_a_restart_is_charged_for_another_degree_but_not_for_another_grouping():
    it = plant(one_operator(), fixed(0.001, executors=2), rate=100.0, cluster=ClusterModel(restart="5s", start=0))
    plan = regrouped(Plan.initial(it.topology, 2), "osg")
    it.apply(plan)
    it.cluster.advance(3.0)
    assert row(it).completed == pytest.approx(300, abs=60)
    plan = scaled(plan, 3)
    it.apply(plan)
    before = int(row(it).completed)
    it.cluster.advance(7.5)
    assert row(it).completed <= before + 2
    assert it.reached(plan) == set(), "no change is real as long as everything stands still for it"
    it.cluster.advance(10.0)
    assert row(it).completed > before + 500
    assert it.reached(plan) == {"op"}
