"""AUTOSCALE+ piece by piece: usable processors, degrees, volumes over the topology."""

import math

import msgspec
import numpy as np
import pytest
from dabs_observations import TOPOLOGY, iteration, snapshots

from rheostat.errors import ConfigError
from rheostat.forecast.models.regression import best_curve
from rheostat.policies.dabs.monitor import NotMeasuredError
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.outlook import ProcessorNeed
from rheostat.policies.dabs.usable_cores import UsableCores, usable_alone, usable_share
from rheostat.policies.dabs.volumes import VolumeEstimator
from rheostat.snapshot import ExecutorPhase, ExecutorState, NodeState
from rheostat.topology import Operator, Source, Topology

# --- processors -------------------------------------------------------------------------------------------------


def test_a_thread_counts_on_lambda_of_what_it_uses_or_reserved_and_its_part_of_the_idle():
    """Figure 3: three threads on a core, of which A uses more than it reserved and the others less."""
    used, reserved = {"A": 0.4, "B": 0.2, "C": 0.1}, {"A": 0.3, "B": 0.3, "C": 0.3}
    idle = 1 - sum(used.values())
    shares = {name: usable_share(used[name], reserved[name], 0.3, idle, 3) for name in used}
    assert shares == pytest.approx({"A": 0.3 * 0.4 + 0.1, "B": 0.3 * 0.3 + 0.1, "C": 0.3 * 0.3 + 0.1})


def test_no_thread_counts_on_more_than_a_core_or_on_less_than_nothing_idle():
    assert usable_share(0.0, 1.0, 0.3, 1.0, 1) == 1.0
    assert usable_share(0.9, 0.5, 0.5, -0.4, 2) == pytest.approx(0.45)
    assert usable_alone(0.8, 1.0, 0.3) == pytest.approx(0.5)


def executor(pool, number, node, busy, time_s):
    return ExecutorState(pool, number, ExecutorPhase.ACTIVE, cpu_s=busy * time_s, node=node)


def test_an_operator_counts_on_the_least_of_its_executors_and_neighbours_take_from_it():
    """Node x has two cores and three busy executors, one of them of another pool; node y has one."""
    used = {("work", 0, "x"): 0.9, ("work", 1, "y"): 0.3, ("rest", 0, "x"): 0.8, ("rest", 1, "x"): 0.1}
    nodes = (NodeState("x", cores=2.0), NodeState("y", cores=1.0))

    def extra(time_s):
        members = tuple(executor(*where, busy, time_s) for where, busy in used.items())
        return {"executors": members, "nodes": nodes}

    seen = iteration(snapshots([1] * 6, extra=extra))
    crowded, alone = 0.3 * 1.0 + (2.0 - 1.8) / 3, 0.3 + 0.7
    assert UsableCores(seen).usable_by_pool("work", 1.0, 0.3) == pytest.approx(min(crowded, alone))


def test_an_executor_that_leaves_still_takes_its_part_of_the_core():
    def extra(time_s):
        leaving = ExecutorState("work", 1, ExecutorPhase.LEAVING, cpu_s=0.3 * time_s, node="x")
        return {"executors": (executor("work", 0, "x", 0.5, time_s), leaving), "nodes": (NodeState("x", cores=1.0),)}

    usable = UsableCores(iteration(snapshots([1] * 6, extra=extra))).usable_by_pool("work", 1.0, 0.3)
    assert usable == pytest.approx(0.3 + (1 - 0.5 - 0.3) / 2)


def test_processor_time_counts_where_both_are_known():
    def both(time_s):
        used = {"cpu_s": 0.5 * time_s, "busy_s": 0.9 * time_s}
        return {"executors": (ExecutorState("work", 0, ExecutorPhase.ACTIVE, **used),)}

    assert UsableCores(iteration(snapshots([1] * 6, extra=both))).usable_by_pool("work", 1.0, 0.3) == pytest.approx(0.8)


def test_useful_time_stands_for_processor_time_and_nothing_for_nothing():
    def busy_only(time_s):
        return {"executors": (ExecutorState("work", 0, ExecutorPhase.ACTIVE, busy_s=0.5 * time_s),)}

    assert UsableCores(iteration(snapshots([1] * 6, extra=busy_only))).usable_by_pool(
        "work", 1.0, 0.3
    ) == pytest.approx(0.8)
    assert UsableCores(iteration(snapshots([1] * 6))).usable_by_pool("work", 1.0, 0.3) is None


# --- degrees ----------------------------------------------------------------------------------------------------


def need(work, usable=1.0, reserved=1.0, weight=0.3):
    """So much work that `work` executors with a whole core would just do it."""
    return ProcessorNeed(work * 60.0, 60.0, usable, reserved, weight)


def test_the_ideal_degree_is_the_volume_over_the_capacity():
    assert need(3.0, usable=0.5).ideal == pytest.approx(6.0)


def test_the_new_degree_is_the_smallest_whose_reservations_hold_the_volume():
    for work in (0.01, 0.3, 0.9, 1.0, 2.4, 7.7):
        degree = need(work, reserved=0.5).degree
        assert work / (0.5 * 0.3) <= degree + 1e-9
        assert degree == 1 or work / (0.5 * 0.3) > degree - 1
    assert need(0.0).degree == 1
    assert need(0.9).degree == 3, "rounding does not add an executor"


def test_within_the_working_interval_nothing_is_done():
    assert need(4.0).beyond(4, beta=0.8) is None
    assert need(3.2).beyond(4, beta=0.8) is None


def test_above_the_interval_it_scales_out_and_below_it_in():
    assert need(4.01).beyond(4, beta=0.8) == math.ceil(4.01 / 0.3)
    assert need(0.5).beyond(4, beta=0.8) == 2
    assert need(0.5).beyond(4, beta=0.1) is None, "β near 0 keeps what there is"


def test_a_scale_in_that_reservations_do_not_allow_is_a_hold():
    """The ideal degree is 2, but at 30 % of what is reserved 6 are needed."""
    assert need(2.0).degree == 7
    assert need(2.0).beyond(5, beta=0.8) is None


def test_a_scale_out_always_adds_an_executor():
    for executors in range(1, 6):
        for work in np.linspace(executors, 3 * executors, 7)[1:]:
            assert need(work, usable=0.99, weight=1.0).beyond(executors, 0.8) > executors


# --- volumes ----------------------------------------------------------------------------------------------------


def estimated(topology=TOPOLOGY, **told):
    options = DabsOptions(**{k: told.pop(k) for k in list(told) if k == "combine"})
    return VolumeEstimator(topology, options).volumes(iteration(snapshots(**told)))


def test_an_operator_behind_a_source_follows_its_own_trend():
    """Arrivals rise by 10 in each sample: the next six are 70, 80, ... 120."""
    volume = estimated(arrivals=[10, 20, 30, 40, 50, 60])["first"]
    assert volume.own == pytest.approx(sum([70, 80, 90, 100, 110, 120]))
    assert volume.parents is None
    assert volume.expected == pytest.approx(570)


def at_moments(seen, times_s):
    return iteration(msgspec.structs.replace(each, time_s=time_s) for each, time_s in zip(seen, times_s, strict=True))


def test_samples_of_unequal_length_are_no_trend():
    """Ten records in each second, however long the samples are; the next iteration has 60 seconds."""
    estimator = VolumeEstimator(TOPOLOGY, DabsOptions())
    uneven = at_moments(snapshots([100, 150, 50, 100, 120, 80]), [0, 10, 25, 30, 40, 52, 60])
    assert estimator.volumes(uneven)["first"].own == pytest.approx(600)
    long = at_moments(snapshots([150] * 6), [15 * sample for sample in range(7)])
    assert estimator.volumes(long)["first"].own == pytest.approx(600)


def test_the_next_iteration_is_as_long_as_told():
    options = DabsOptions(sample="20s", iteration="2m")
    seen = at_moments(snapshots([200] * 6), [20 * sample for sample in range(7)])
    assert VolumeEstimator(TOPOLOGY, options).volumes(seen)["first"].own == pytest.approx(1200)


def test_what_waits_is_added():
    assert estimated(arrivals=[10] * 6, pending={"first": 25})["first"].expected == pytest.approx(85)


def test_a_child_gets_its_parents_output_by_the_selectivity_that_was_measured():
    """`second` saw 20 in each sample, since `first` writes two for each of its 10; `first` grows, with a queue."""
    found = estimated(arrivals=[10, 20, 30, 40, 50, 60], behind=[20] * 6, rows=420, completed=210)
    assert found["second"].own == pytest.approx(120)
    assert found["second"].parents == pytest.approx(2 * 570)
    assert found["second"].expected == pytest.approx(1140)


def test_what_waits_at_a_parent_comes_to_its_child():
    found = estimated(arrivals=[10] * 6, behind=[10] * 6, rows=60, completed=60, pending={"first": 30})
    assert found["second"].parents == pytest.approx(60 + 30)


@pytest.mark.parametrize(("combine", "expected"), [("max", 1140), ("min", 120)])
def test_own_trend_and_parents_are_combined_as_told(combine, expected):
    found = estimated(arrivals=[10, 20, 30, 40, 50, 60], behind=[20] * 6, rows=420, completed=210, combine=combine)
    assert found["second"].expected == pytest.approx(expected)


def test_without_measured_rows_or_completions_the_declared_selectivity_counts():
    found = estimated(arrivals=[10] * 6, behind=[20] * 6, rows=None)
    assert found["second"].parents == pytest.approx(60 * 1.5)
    found = estimated(arrivals=[10] * 6, behind=[20] * 6, rows=0, completed=0)
    assert found["second"].parents == pytest.approx(60 * 1.5)


LOOP = Topology(
    "loop",
    [
        Source("in"),
        Operator("first", inputs=("in", "second.again"), selectivity=1.5),
        Operator("second", inputs="first", outputs={"again": 0.2, "done": 0.8}),
        Operator("third", inputs="second.done"),
    ],
)
ROUND = {
    "arrivals": [13] * 6,
    "behind": [15] * 6,
    "third": [12] * 6,
    "streams": {("in", "first"): 60, ("first", "second"): 90, ("second.again", "first"): 18},
}


def test_around_a_loop_the_last_volume_counts():
    assert estimated(LOOP, **ROUND)["first"].parents == pytest.approx(60 + 18)


def test_around_a_loop_the_volume_of_a_longer_iteration_counts_for_as_long_as_the_next_one_is():
    longer = at_moments(snapshots(**ROUND), [20 * sample for sample in range(7)])
    assert VolumeEstimator(LOOP, DabsOptions()).volumes(longer)["first"].parents == pytest.approx((60 + 18) / 2)


def test_around_a_loop_that_is_not_measured_completions_and_the_declared_share_count():
    streams = {("in", "first"): 60, ("first", "second"): 90}
    found = estimated(LOOP, **{**ROUND, "streams": streams})
    assert found["first"].parents == pytest.approx(60 + 0.2 * 6 * 15)


def test_of_the_three_curves_the_one_that_fits_best_is_continued():
    growing = [1000 * 1.1**n for n in range(6)]
    assert best_curve(np.array(growing)).kind == "exponential"
    own = estimated(arrivals=growing)["first"].own
    assert own == pytest.approx(sum(1000 * 1.1**n for n in range(6, 12)))


def test_a_counter_that_is_missing_or_fell_is_named():
    with pytest.raises(NotMeasuredError, match="arrivals at 'first' not measured"):
        estimated(arrivals=[10] * 6, unknown=True)
    with pytest.raises(NotMeasuredError, match="the counter of arrivals at 'first' fell from 20 to 15"):
        estimated(arrivals=[10, 10, -5, 10, 10, 10])


@pytest.mark.parametrize("iteration", ["20s", "65s", "5s"])
def test_an_iteration_that_is_no_multiple_of_samples_is_refused(iteration):
    with pytest.raises(ConfigError, match=f"iteration '{iteration}' must be a multiple of sample '10s'"):
        DabsOptions(iteration=iteration)
