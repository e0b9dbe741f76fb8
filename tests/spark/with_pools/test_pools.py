"""Pools on a real cluster, under a keyed count that runs all the time."""

import threading
from collections import defaultdict

import msgspec
import pytest
from held_tasks import holding
from pyspark.sql import functions as sf

from rheostat.decision import Move, Scale, Transfer
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase
from rheostat.spark.state.stage_placement import Preference, StageTarget
from rheostat.topology import Operator, Source, Topology

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

KEYED = Topology("keyed", [Source("rows"), Operator("count", inputs="rows", key="key", substreams=4)])


@pytest.fixture(scope="module")
def counting(pipelines, eventually):
    """A keyed count in a pool of one executor and one warm standby, with a first batch behind it."""
    pipeline = pipelines(KEYED, Plan.initial(KEYED, 1, standby={"count": 1}), shortage_after_s=1.0)
    pipeline.start(lambda df: df.groupBy("key").agg(sf.count("*"), sf.sum("value")), "complete")
    pipeline.run()
    eventually(pipeline.reached, "the first plan", 240)
    return pipeline


def test_a_warm_standby_gets_no_work_until_it_is_activated_and_then_in_the_next_batch(counting, eventually):
    first, standby = counting.spark_id(0), counting.spark_id(-1)
    counting.run()
    assert set(counting.ran_on().values()) == {first}
    counting.want(counting.plan.after(Scale(pool="count", executors=2, standby=0, reason="test")))
    eventually(counting.reached, "the activation", 10)
    counting.run()
    wanted = {substream: (first, standby)[number] for substream, number in enumerate(counting.plan.assignment["count"])}
    assert counting.ran_on() == wanted
    assert set(wanted.values()) == {first, standby}


def test_a_moved_substream_runs_on_its_new_executor_in_the_next_batch_and_stays_there(counting, eventually):
    first, second = (counting.spark_id(number) for number in counting.plan.pool("count").executors)
    source = counting.plan.assignment["count"][0]
    target = 1 - source
    move = Move(operator="count", transfers=(Transfer((0,), source, target),), reason="test")
    counting.want(counting.plan.after(move))
    eventually(counting.reached, "the move", 10)
    counting.run()
    moved = counting.ran_on()
    assert moved[0] == (first, second)[target]
    counting.run()
    assert counting.ran_on() == moved


def test_an_executor_that_comes_takes_tasks_that_wait_in_a_stage_that_runs(counting, tmp_path, eventually):
    members = {member.number: member.executor for member in counting.state.book.members()}
    serving = [members[number] for number in counting.plan.pool("count").executors]
    profile, release = counting.profile(), tmp_path / "release"
    preference, other = (Preference(counting.spark, profile) for _ in range(2))

    def held(name):
        return len(list(tmp_path.glob(f"{name}*")))

    def stage(name, preference):
        preference.set(StageTarget(profile, serving[:1]))
        work = holding(tmp_path / name, release)
        return threading.Thread(
            target=preference.place(counting.spark.range(4, numPartitions=4).mapInArrow(work, "id long")).collect
        )

    joined, kept = stage("joined", preference), stage("kept", other)
    joined.start()
    try:
        eventually(lambda: held("joined") == 1 or None, "a task on the only executor that serves", 60)
        kept.start()
        preference.set(StageTarget(profile, serving))
        eventually(lambda: held("joined") == 2 or None, "a task on the one that has come", 60)
        assert held("kept") == 0, "what waits for the first executor still does"
    finally:
        release.touch()
        joined.join()
        kept.join()


@pytest.mark.slow
def test_a_killed_executor_is_replaced_and_its_number_and_substreams_go_to_the_replacement(counting, eventually):
    counting.feed(6)
    killed = counting.kill_9(1)
    eventually(lambda: not counting.reached() or None, "the loss to be noticed", 30)
    eventually(counting.reached, "the replacement", 240)
    assert counting.spark_id(1) != killed
    counting.run()
    executors = [counting.spark_id(number) for number in (0, 1)]
    assert counting.ran_on() == {s: executors[n] for s, n in enumerate(counting.plan.assignment["count"])}


def test_a_pool_that_is_kept_whole_starts_and_ends_nobody(counting, eventually):
    spark_ids, ever = {counting.spark_id(0), counting.spark_id(1)}, counting.executors_ever()
    counting.feed(4)
    counting.want(counting.plan.after(Scale(pool="count", executors=1, standby=1, reason="test")))
    eventually(counting.reached, "one of them to stand by", 60)
    counting.run()
    assert set(counting.ran_on().values()) == {counting.spark_id(0)}
    counting.want(counting.plan.after(Scale(pool="count", executors=2, standby=0, reason="test")))
    eventually(counting.reached, "the activation", 10)
    counting.run()
    assert set(counting.ran_on().values()) == spark_ids
    assert counting.executors_ever() == ever


def test_a_leaving_executor_is_emptied_and_killed_without_force(counting, eventually):
    number = counting.plan.pool("count").executors[0]
    leaving, staying = (counting.spark_id(each) for each in counting.plan.pool("count").executors)
    ever = counting.executors_ever()
    counting.feed(4)
    counting.want(counting.plan.after(Scale(pool="count", executors=1, leaving=(number,), reason="test")))
    eventually(counting.reached, "the removal", 60)
    assert not counting.allocation.is_active(leaving)
    counting.run()
    assert set(counting.ran_on().values()) == {staying}
    assert counting.executors_ever() == ever


def test_a_total_that_the_cluster_has_no_room_for_is_reported_and_not_waited_for(counting, eventually):
    modest = counting.plan
    counting.want(counting.plan.after(Scale(pool="count", executors=50, reason="test")))
    obstacles = eventually(lambda: counting.plant.apply(counting.plan) or None, "an obstacle", 60)
    assert obstacles[0] == "pool 'count' gets 8 of its 50 executors: the cluster has room for 8 executors"
    counting.want(msgspec.structs.replace(modest, revision=counting.plan.revision + 1))
    eventually(counting.reached, "the modest plan", 120)
    assert counting.plant.apply(counting.plan) == ()


def test_no_row_was_lost_or_doubled_over_all_of_this(counting):
    counting.run()
    values = defaultdict(list)
    for row in counting.fed():
        values[row["key"]].append(row["value"])
    assert counting.result() == [(key, len(values[key]), sum(values[key])) for key in sorted(values)]
    assert {member.phase for member in counting.state.book.members()} == {ExecutorPhase.ACTIVE}
