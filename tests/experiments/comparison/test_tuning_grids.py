import pytest

from rheostat.experiments.comparison.tuning_grids import GRIDS, TUNING_SEEDS
from rheostat.policies.qlearning.table import write_table
from rheostat.policies.qlearning.train import Lesson, train
from rheostat.policies.registry import make_policy, policies
from rheostat.sla import SLA, Budget, Goal
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("one", [Source("in"), Operator("work", inputs=("in",))])
GOAL = Goal(TOPOLOGY, (SLA("5s", "30s"),), Budget(20))


def test_every_policy_of_the_project_has_a_grid():
    own = {name for name, policy in policies().items() if policy.__module__.startswith("rheostat.")}
    assert set(GRIDS) == own


@pytest.mark.parametrize("name", GRIDS)
def test_every_setting_of_a_grid_is_one_of_its_policy(name, tmp_path):
    needed = {}
    if name == "q-learning":
        write_table({"work": train([10, 20], 10, Lesson(most=4))}, tmp_path / "table.json")
        needed = {"table": str(tmp_path / "table.json")}
    for options in GRIDS[name]:
        assert make_policy(name, GOAL, {**needed, **options}).name == name


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_has_some_settings_and_each_once(name):
    assert 4 <= len(GRIDS[name]) <= 8
    assert all(GRIDS[name].count(options) == 1 for options in GRIDS[name])
    assert {} not in GRIDS[name]


def test_the_seeds_are_not_those_of_comparisons():
    assert min(TUNING_SEEDS) >= 1000
