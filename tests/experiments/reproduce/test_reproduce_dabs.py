"""The experiments of the DABS-Storm paper: setup, training of strategies, claims."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from rheostat.experiments.learned_table import learned_table
from rheostat.experiments.reproduce.catalogue import catalogue
from rheostat.experiments.reproduce.dabs.comparison import RESTARTS, StrategyRuns
from rheostat.experiments.reproduce.dabs.figures import FIGURES
from rheostat.experiments.reproduce.dabs.loads import ERRATIC, PROGRESSIVE
from rheostat.experiments.reproduce.dabs.presentation import rows
from rheostat.experiments.reproduce.dabs.strategies import (
    AUTOSCALE,
    FOLLOWING,
    INCREMENTAL,
    LEARNED,
    STATIC,
    strategies,
)
from rheostat.experiments.reproduce.dabs.topologies import INSENSITIVE, OPINION, SENSITIVE
from rheostat.experiments.reproduce.turn_log import TurnLog
from rheostat.policies.qlearning.table import read_table
from rheostat.policies.registry import make_policy

APPLICATIONS = (INSENSITIVE, SENSITIVE, OPINION)


def work(scenario):
    """Executors that each operator keeps busy at the peak, by operator."""
    peak = scenario.model.source("source").load.peak(scenario.duration_s)
    routing = scenario.model.topology.routing
    entering = np.zeros(len(routing))
    entering[0] = peak
    rates = np.linalg.solve(np.eye(len(routing)) - routing.T, entering)
    times_s = [scenario.model.operator(name).service.mean_s for name in scenario.model.topology.operators]
    return dict(zip(scenario.model.topology.operators, rates * times_s, strict=True))


@pytest.mark.parametrize("application", APPLICATIONS, ids=("insensitive", "sensitive", "opinion"))
@pytest.mark.parametrize("load", [PROGRESSIVE, ERRATIC], ids=("progressive", "erratic"))
def test_one_executor_cannot_keep_up_and_the_cluster_can(application, load):
    needed = work(application.scenario("x", load, None))
    assert needed[application.observed] > 2
    assert sum(needed.values()) < 18


def test_fewer_records_that_take_longer_are_as_much_work():
    whole, share = (OPINION.scenario("x", ERRATIC, None, part) for part in (1.0, 0.25))
    assert work(whole) == pytest.approx(work(share))


def test_the_sensitive_bolt_costs_as_much_as_the_insensitive_one_in_the_mean():
    model = SENSITIVE.scenario("x", PROGRESSIVE, None).model
    costs = np.array(model.operator("bolt").service.cost_by_value)
    assert float(model.source("source").weights @ costs) == pytest.approx(1.0)
    assert costs.max() / costs.min() == pytest.approx(64.0**2)


def test_every_strategy_can_be_made_for_every_experiment():
    for figure in FIGURES:
        scenario = figure.application.scenario("x", figure.load, "30s")
        for setup in (each for setups in strategies(scenario).values() for each in setups):
            make_policy(setup.policy, scenario.goal, setup.options)


def test_reinforcement_learning_knows_the_stream_it_was_trained_on():
    scenario = INSENSITIVE.scenario("x", PROGRESSIVE, None)
    table = read_table(learned_table(scenario))
    calm, busy = 20 * 0.04, 150 * 0.04
    assert table["bolt"].degree(150.0) == math.ceil(busy / 0.8)
    assert table["bolt"].degree(20.0) == pytest.approx(math.ceil(calm / 0.8), abs=1)


def test_all_six_figures_are_in_the_catalogue():
    assert [each.name for each in catalogue().find("dabs")] == [f"dabs-fig{number}" for number in range(12, 18)]


def result(late=0, units=5.0, latency_s=1.0):
    operators = {"bolt": SimpleNamespace(mean_executors=3.0)}
    return SimpleNamespace(
        late=late, lost=0, queued=10, arrived=1000, mean_latency_s=latency_s, mean_executors=units, decisions={},
        operators=operators,
    )  # fmt: skip


def runs(**figures):
    return StrategyRuns("bolt", (result(**figures),), TurnLog())


def test_the_final_backlog_counts_as_lost():
    assert runs(late=40).loss().mean == pytest.approx(5.0)


def test_claims_are_judged_by_what_was_found():
    found = {
        AUTOSCALE: runs(late=70, units=10),
        INCREMENTAL: runs(late=290, units=12),
        LEARNED: runs(late=90, units=7),
        FOLLOWING: runs(late=120, units=7),
    }
    losses, latency, than_learned, than_autoscale = FIGURES[0].claims(found)
    assert losses.holds
    assert latency.text == "AUTOSCALE+, β 0.8 has the lowest latency"
    assert (than_learned.holds, than_learned.evidence) == (True, "+71 %")
    assert (than_autoscale.holds, than_autoscale.evidence) == (True, "+20 %")
    assert not FIGURES[1].claims(found)[0].holds


def test_the_paper_is_compared_with_the_runs_with_restarts():
    found = {(name, setting): runs() for setting in reversed(RESTARTS) for name in (AUTOSCALE, STATIC)}
    table = rows(found, {AUTOSCALE: "7 %"})
    assert [row[:4] for row in table] == [
        (AUTOSCALE, None, "7 %", "restart"),
        (STATIC, None, None, "restart"),
        (AUTOSCALE, None, None, "no restart"),
        (STATIC, None, None, "no restart"),
    ]
