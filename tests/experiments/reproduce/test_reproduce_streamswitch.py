"""The experiments of the StreamSwitch paper: workloads, solutions and success rates."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from rheostat.experiments.reproduce.streamswitch.fig6 import actions_of_kind, moved
from rheostat.experiments.reproduce.streamswitch.fig16 import word_count
from rheostat.experiments.reproduce.streamswitch.path_success import PathSuccess
from rheostat.experiments.reproduce.streamswitch.solutions import Solution
from rheostat.experiments.reproduce.streamswitch.substream_latency import SubstreamLatency
from rheostat.experiments.reproduce.streamswitch.workloads import SUBSTREAMS, auctions, orders
from rheostat.experiments.reproduce.turn_log import simulate_with_log
from rheostat.experiments.simulate import simulate
from rheostat.policies.registry import make_policy
from rheostat.sim.cluster.cluster import Cluster


def test_orders_are_skewed_and_open_with_spikes_as_the_trace_does() -> None:
    scenario = orders(600.0)
    source = scenario.model.source("in")
    assert source.weights is not None
    assert source.weights.max() > 0.02
    assert np.sort(source.weights)[::-1][: len(source.weights) // 100].sum() > 0.10
    usual = source.load.rates(np.linspace(10, 590, 600))
    assert source.load.rate_at(0.0) / 1000.0 > 0.5 * 80
    assert 800 <= usual.mean() <= 1200, "14.85 million orders in four hours"
    assert 100 <= usual.min() < 1000 < 1800 < usual.max() < 10_000, "from hundreds to thousands"
    assert scenario.model.topology.operators["work"].substream_count == SUBSTREAMS


@pytest.mark.parametrize("kind", ["Switch", "DRS", "DRS-LB", "Static"])
def test_every_solution_is_a_policy_with_options_it_knows(kind: str) -> None:
    case = Solution(kind, 8 if kind == "Static" else 0.2).case(60.0, bound_s=5.0, window_s=2.0)
    assert make_policy(case.policy, case.scenario.goal, case.options)
    [sla] = case.scenario.goal.slas
    assert (sla.latency_s, sla.window_s) == (5.0, 2.0)


def test_only_drs_lb_balances_while_drs_holds() -> None:
    assert Solution("DRS-LB", 0.4).case(60.0).options["balance"] is True
    assert Solution("DRS", 0.4).case(60.0).options["balance"] is False


def test_auctions_swing_around_30000_records_a_second() -> None:
    load = auctions(30e3, 120.0, 4e3, duration_s=120.0).model.source("in").load
    assert load.mean("120s") == pytest.approx(30e3, rel=1e-3)
    assert load.peak("120s") == pytest.approx(60e3, rel=1e-3)


def test_word_count_keeps_its_executors_busy_for_three_quarters_of_their_time() -> None:
    model = word_count({}, 60.0).model
    split, count = model.operator("split"), model.operator("count")
    assert 15e3 * split.service.mean_s / split.executors == pytest.approx(0.75)
    assert 60e3 * count.service.mean_s / count.executors == pytest.approx(0.75)


def test_actions_of_a_run_are_classified() -> None:
    case = Solution("Switch", 0.2).case(4.0)
    _, log = simulate_with_log(case, seed=0)
    outs = actions_of_kind(log, "scale-out")
    assert outs
    assert all(moved(decision) >= 1 for _, decision in outs)
    assert len(outs) + len(actions_of_kind(log, "scale-in")) == len(list(log.actions()))


class _Slots:
    """Stands in for a cluster of two operators of two substreams, whose totals a test sets slot by slot."""

    def __init__(self) -> None:
        self.substreams = np.zeros(4, dtype=[("latency", float), ("completed", int)]).view(np.recarray)
        operators = np.array([(0, 2), (2, 2)], dtype=[("first_substream", int), ("substreams", int)]).view(np.recarray)
        self._due: list[Callable[[], None]] = []
        self.cluster = cast(
            Cluster,
            SimpleNamespace(
                now_s=0.0,
                timers=SimpleNamespace(at=lambda time_s, action: self._due.append(action)),
                position={"one": 0, "two": 1},
                state=SimpleNamespace(operators=operators, substreams=self.substreams),
            ),
        )

    def pass_with(self, latency_s: list[float], completed: list[int]) -> None:
        """Let a slot pass in which so many records are completed, with these sums of latencies."""
        self.substreams.latency[:] += latency_s
        self.substreams.completed[:] += completed
        self._due.pop()()


def test_a_path_is_scored_for_every_pair_of_substreams() -> None:
    """The second substream of the first operator completes nothing in the window."""
    scorer = PathSuccess("one", "two", latency_s=2.0, window_s=0.1)
    slots = _Slots()
    scorer(slots.cluster)
    slots.pass_with([10.0, 0.0, 5.0, 15.0], [10, 0, 10, 10])
    assert scorer.rate == 0.5, "1.0 + 0.5 s are within 2 s, 1.0 + 1.5 s are not"


def test_the_highest_latency_of_substreams_is_that_of_their_slowest_slot() -> None:
    latency = SubstreamLatency("two")
    slots = _Slots()
    latency(slots.cluster)
    slots.pass_with([0.0, 0.0, 4.0, 1.0], [0, 0, 2, 2])
    slots.pass_with([0.0, 0.0, 3.0, 9.0], [0, 0, 3, 3])
    slots.pass_with([9.0, 9.0, 0.0, 0.0], [1, 1, 0, 0])
    assert latency.highest_s([0], 0.0, 0.3) == 2.0
    assert latency.highest_s([0, 1], 0.0, 0.3) == 3.0
    assert latency.highest_s([0, 1], 0.0, 0.1) == 2.0
    assert np.isnan(latency.highest_s([0, 1], 0.2, 0.3)), "nothing was completed"


def test_a_run_that_is_watched_is_the_same_run() -> None:
    scenario = word_count({"split": 1.0, "count": 1.0}, 2.0)
    scorer = PathSuccess("split", "count", latency_s=2.0, window_s=1.0)
    watched = simulate(scenario, "static", {}, watchers=[scorer])
    assert watched == simulate(scenario, "static", {})
    assert 0.0 < scorer.rate <= 1.0
