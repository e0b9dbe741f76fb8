"""SLAs, bounds and K_max that change while the loop runs, on the simulator."""

import msgspec
import numpy as np
import pytest

from rheostat.attachment import Attachment
from rheostat.errors import RheostatError
from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.pipeline import Pipeline
from rheostat.policies.registry import make_policy
from rheostat.sim.plant import SimPlant, initial_plan
from rheostat.sla import SLA, Budget

TOLD = {
    "name": "steady",
    "duration": "10m",
    "period": "1s",
    "source": [{"name": "in", "load": 40}],
    "operator": [{"name": "work", "inputs": ["in"], "executors": 6, "service": {"mean": "100ms"}, "queues": "shared"}],
    "sla": [{"latency": "1s", "window": "10s"}],
    "budget": {"total": 10},
}


def started(folder, policy, options=None):
    scenario = make_scenario(msgspec.convert(TOLD, ScenarioFile), folder)
    plant = SimPlant(scenario.model, np.random.default_rng(1))
    made, journal = make_policy(policy, scenario.goal, options or {}), Journal()
    loop = Controller(plant, made, scenario.goal, journal, scenario.loop, plan=initial_plan(scenario.model))
    return loop, journal


def test_another_k_max_is_used_from_the_next_turn_on(tmp_path):
    loop, journal = started(tmp_path, "drs", {"problem": "k_max", "keep": 0, "reallocation_cost": 0})
    loop.run(for_="30s")
    assert loop.plan.size("work") == 10
    loop.change_goal(budget=Budget(total=14))
    loop.run(for_="30s")
    assert loop.plan.size("work") == 14
    assert [run.goal.budget.total for run in journal.runs().values()] == [10, 14]


def test_a_stricter_sla_brings_more_executors(tmp_path):
    loop, journal = started(tmp_path, "drs")
    loop.run(for_="90s")
    before = loop.plan.size("work")
    loop.change_goal(slas=[SLA("115ms", "10s")])
    loop.run(for_="90s")
    assert loop.plan.size("work") > before
    assert [run.goal.slas[0].latency_s for run in journal.runs().values()] == [1.0, 0.115]


@pytest.mark.parametrize("policy", ["drs", "threshold", "pa-sps", "streamswitch", "dabs", "lag", "rheostat"])
def test_narrower_bounds_hold_at_once_for_every_policy(tmp_path, policy):
    loop, _ = started(tmp_path, policy)
    loop.run(for_="20s")
    loop.change_goal(budget=Budget(total=10, most={"work": 5}))
    assert loop.plan.size("work") <= 5
    loop.run(for_="60s")
    assert loop.plan.size("work") <= 5


def test_a_goal_that_cannot_be_is_refused_and_nothing_changes(tmp_path):
    loop, journal = started(tmp_path, "drs")
    loop.run(for_="5s")
    goal = loop.goal
    with pytest.raises(RheostatError, match="nowhere"):
        loop.change_goal(slas=[SLA("1s", "10s", operator="nowhere")])
    assert loop.goal is goal
    assert len(journal.runs()) == 1


def test_a_pipeline_passes_a_new_goal_on(tmp_path):
    pipeline = Pipeline.__new__(Pipeline)
    pipeline.controller, _ = started(tmp_path, "drs")
    pipeline.change_goal(sla="2s/20s")
    pipeline.change_goal(budget=Budget(total=7))
    goal = pipeline.controller.goal
    assert (goal.slas, goal.budget.total) == ((SLA("2s", "20s"),), 7)


def test_an_attachment_passes_new_bounds_and_a_new_sla_on(tmp_path, monkeypatch):
    monkeypatch.setattr("rheostat.attachment.OPERATOR", "work")
    attachment = Attachment.__new__(Attachment)
    attachment._controller, _ = started(tmp_path, "drs")
    attachment.change_goal(sla="2s/20s", max_executors=5)
    attachment.change_goal(min_executors=3)
    goal = attachment._controller.goal
    assert goal.slas == (SLA("2s", "20s"),)
    assert goal.budget.bounds(["work"]) == (3, 5)
    assert attachment._controller.plan.size("work") == 5
    with pytest.raises(RheostatError, match="min_executors 0"):
        attachment.change_goal(min_executors=0)
