"""The plant file is a scenario that can be simulated as it is, and keeps what a scenario says already."""

import tomllib

import pytest
from calibrated_plants import CHAIN, ONE, measured, measured_chain

from rheostat.experiments.calibration.plant_file import plant_file, with_plant
from rheostat.experiments.calibration.plant_fit import fit_plant
from rheostat.experiments.scenario import read_scenario
from rheostat.experiments.simulate import simulate

SCENARIO = """
name = "given"
duration = "1m"

[[source]]
name = "records"
load = { shape = "step", steps = [[0, 10], ["30s", 20]] }

[[operator]]
name = "serve"
inputs = ["records"]
executors = 2
queues = "batches"
service = { mean = "1ms" }

[[sla]]
latency = "5s"

[budget]
total = 6
change = [{ at = "20s", total = 4 }]

[cluster]
timeout = "1m"
"""


@pytest.mark.parametrize(("topology", "measurements"), [(ONE, measured()), (CHAIN, measured_chain())])
def test_the_file_can_be_simulated(tmp_path, topology, measurements):
    path = tmp_path / "plant.toml"
    path.write_text(plant_file(topology, fit_plant(topology, measurements)))
    result = simulate(read_scenario(path), "static")
    assert result.completed > 100


def test_it_has_what_was_measured(tmp_path):
    path = tmp_path / "plant.toml"
    path.write_text(plant_file(CHAIN, fit_plant(CHAIN, measured_chain())))
    scenario = read_scenario(path)
    model = scenario.model
    assert model.operator("split").service.mean_s == pytest.approx(0.02, rel=0.01)
    assert model.topology.operators["split"].selectivity == 6.0
    assert model.topology.operators["count"].substreams == 4
    assert model.source("sentences").batch_s == pytest.approx(0.3)
    assert list(model.values["split"] / model.values["split"].sum()) == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6])
    assert model.cluster.start == "4s"
    assert model.cluster.first_batch == "1.5s"
    assert model.cluster.move_delay == "1.5s"
    assert scenario.goal.end_to_end is not None


def test_a_scenario_keeps_its_load_its_sla_and_its_budget(tmp_path):
    path = tmp_path / "plant.toml"
    path.write_text(plant_file(ONE, fit_plant(ONE, measured()), tomllib.loads(SCENARIO)))
    scenario = read_scenario(path)
    assert scenario.name == "given"
    assert scenario.model.source("records").load.rate_at(40.0) == 20.0
    assert scenario.goal.end_to_end.latency_s == 5.0
    assert (scenario.goal.budget.total, scenario.budget_changes[0].budget.total) == (6, 4)
    assert scenario.model.operator("serve").executors == 2
    assert scenario.model.operator("serve").batches.fixed == "400ms"
    assert scenario.model.cluster.timeout == "1m"


def test_the_given_content_is_not_changed():
    content = tomllib.loads(SCENARIO)
    with_plant(content, ONE, fit_plant(ONE, measured()))
    assert content == tomllib.loads(SCENARIO)


def test_odd_names_survive(tmp_path):
    content = tomllib.loads(SCENARIO) | {"name": 'a "quoted" näme'}
    path = tmp_path / "plant.toml"
    path.write_text(plant_file(ONE, fit_plant(ONE, measured()), content))
    assert read_scenario(path).name == 'a "quoted" näme'


def test_intervals_are_in_the_remarks():
    text = plant_file(ONE, fit_plant(ONE, measured()))
    assert text.startswith("# Measured on Spark with 1, 2, 4 executors")
    assert "fixed 400ms ±" in text
