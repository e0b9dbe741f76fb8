from pathlib import Path

import pytest
from small_scenario import write_small

from rheostat.errors import ConfigError
from rheostat.experiments.comparison.policy_choice import choose_policies, with_training
from rheostat.experiments.scenario import read_scenario
from rheostat.policies.registry import make_policy, policies


def test_names_are_taken_in_their_order_and_once() -> None:
    assert choose_policies("static, drs,static") == ("static", "drs")
    assert choose_policies("all") == tuple(policies())
    assert choose_policies("drs,all")[0] == "drs"


def test_an_unknown_policy_names_the_near_ones() -> None:
    with pytest.raises(ConfigError, match=r"policy 'dsr' is unknown: did you mean (ds2 or drs|drs or ds2)"):
        choose_policies("static,dsr")
    with pytest.raises(ConfigError, match="names no policy"):
        choose_policies(" , ")


def test_q_learning_is_trained_on_the_load_of_the_scenario(tmp_path: Path) -> None:
    scenario = read_scenario(write_small(tmp_path))
    options = with_training(scenario, "q-learning", {})
    assert make_policy("q-learning", scenario.goal, options).name == "q-learning"
    assert with_training(scenario, "q-learning", {"table": "mine.json"}) == {"table": "mine.json"}
    assert with_training(scenario, "drs", {}) == {}
