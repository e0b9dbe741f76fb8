"""I/O of nodes: what a record costs, and more from afar, who waits for whom, and what a failure leaves."""

import pytest
from plants import CHAIN, drained, executor_row, fixed, nodes, one_operator, placed, plant

from rheostat.decision import Location
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.model import Batches, ClusterModel, Failure

TOGETHER = Step([(0, 4000.0), (0.00105, 0.0)])
"""With regular gaps: four records in the first millisecond."""


def burst(executors, **more):
    """Four records at about the same time, each with 100 ms of work and 300 ms of its node's I/O."""
    it = plant(
        one_operator(),
        fixed(0.1, executors=executors, io="300ms", **more),
        rate=TOGETHER,
        scv=0,
        resolution_s=0.00105,
        cluster=ClusterModel(nodes=nodes("x", slots=4)),
    )
    assert drained(it, 5.0)
    return it


@pytest.mark.parametrize(
    ("executors", "ends_s"),
    [(1, [0.4, 0.8, 1.2, 1.6]), (2, [0.4, 0.7, 1.0, 1.3]), (4, [0.4, 0.7, 1.0, 1.3])],
)
def test_a_node_reads_one_record_after_the_other_for_all_its_executors(executors, ends_s):
    """One executor reads and works in turn; with two, one works while the node reads for the other."""
    seen = burst(executors).observe()
    assert seen.latency.mean_s == pytest.approx(sum(ends_s) / 4, abs=0.002)
    assert seen.latency.max_s == pytest.approx(ends_s[-1], abs=0.002)


def test_waiting_for_io_is_busy_time_of_an_executor_but_no_processor_time():
    seen = burst(2).observe()
    assert sum(executor.cpu_s for executor in seen.executors) == pytest.approx(0.4)
    assert sum(executor.busy_s for executor in seen.executors) == pytest.approx(0.4 + 0.3 + 0.6 + 0.5 + 0.5, abs=0.005)


def test_a_node_tells_how_long_its_io_was_busy_so_far_and_no_longer():
    it = plant(
        one_operator(),
        fixed(0.1, executors=4, io="300ms"),
        rate=TOGETHER,
        scv=0,
        resolution_s=0.00105,
        cluster=ClusterModel(nodes=nodes("x", slots=4)),
    )
    it.observe()
    shares = []
    for time_s in (0.5, 1.0, 1.5, 2.0):
        it.cluster.advance(time_s)
        shares.append(it.observe().nodes[0].io)
    assert shares == pytest.approx([1.0, 1.0, 0.4, 0.0], abs=0.005)


@pytest.mark.parametrize(("io", "expected_s"), [("10ms", 0.1 + 0.2), ("300ms", 0.3 + 0.9)])
def test_a_batch_lasts_as_long_as_its_work_or_the_io_of_its_node_whichever_is_longer(io, expected_s):
    """A batch of one record, and one of three on two executors, one of which has two of them."""
    it = plant(
        one_operator(),
        fixed(0.1, executors=2, io=io, queues="batches", batches=Batches(fixed=0, per_task=0, trigger="1s")),
        rate=Step([(0, 4.0), (1.05, 0.0)]),
        scv=0,
        cluster=ClusterModel(nodes=nodes("x")),
    )
    assert drained(it, 20.0)
    batch = it.observe().operators["op"].batch
    assert batch.count == 2
    assert batch.duration_s == pytest.approx(expected_s)


@pytest.mark.parametrize(
    ("spot", "expected_s"), [(Location("x", 1), 0.04), (Location("x", 2), 0.04), (Location("y", 3), 0.07)]
)
def test_a_record_from_another_node_needs_more_io(spot, expected_s):
    plan = placed(placed(Plan.initial(CHAIN), "a", _0=Location("x", 1)), "b", _0=spot)
    serving = {"a": fixed(0.01), "b": fixed(0.01, io="20ms")}
    cluster = ClusterModel(nodes=nodes("x", "y"), node_io="30ms")
    it = plant(CHAIN, serving, rate=10.0, scv=0, cluster=cluster, plan=plan)
    it.cluster.advance(100.0)
    assert it.observe().latency.mean_s == pytest.approx(expected_s)


def test_io_beyond_what_a_node_can_do_bounds_its_throughput():
    cluster = ClusterModel(nodes=nodes("x", slots=4))
    it = plant(one_operator(), fixed(0.001, executors=4, io="50ms"), rate=100.0, cluster=cluster)
    it.cluster.advance(100.0)
    seen = it.observe()
    assert seen.operators["op"].completed == pytest.approx(100.0 / 0.05, abs=4)
    assert seen.nodes[0].io == pytest.approx(1.0, abs=0.001)


def test_what_a_failed_executor_asked_for_is_read_and_its_record_is_read_again():
    """It fails at 0.1 s, in the middle of the I/O of the first record (until 0.3 s), and is back at 0.2 s."""
    it = plant(
        one_operator(),
        fixed(0.1, io="300ms"),
        rate=Step([(0, 1000.0), (0.00105, 0.0)]),
        scv=0,
        resolution_s=0.00105,
        cluster=ClusterModel(
            nodes=nodes("x"), failures=(Failure(at="100ms", operator="op", executor=0, down="100ms"),)
        ),
    )
    assert drained(it, 5.0)
    seen = it.observe()
    assert seen.latency.max_s == pytest.approx(0.3 + 0.3 + 0.1, abs=0.002)
    assert executor_row(it, 0).io_s == pytest.approx(0.1 + 0.4, abs=0.002)
    assert seen.executors[0].cpu_s == pytest.approx(0.1, abs=0.002)
