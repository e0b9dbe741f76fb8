"""Every application has a scenario of the same topology for the simulator, and a section in the documentation."""

from pathlib import Path

import pytest

from rheostat.experiments.scenario import read_scenario
from rheostat.workloads.application import APPLICATIONS, application

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios" / "applications"


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_scenario_of_an_application_has_its_topology(name: str, tmp_path: Path) -> None:
    if name == "vld":
        pytest.importorskip("cv2")
    topology, found = application(name).topology(tmp_path), read_scenario(SCENARIOS / f"{name}.toml")
    assert found.name == name
    assert list(found.model.topology.sources) == list(topology.sources)
    shapes = [
        [(o.name, o.inputs, tuple(o.selectivities), o.key, o.substreams) for o in each.operators.values()]
        for each in (found.model.topology, topology)
    ]
    assert shapes[0] == shapes[1]


def test_there_are_no_other_scenarios_of_applications() -> None:
    assert {path.stem for path in SCENARIOS.glob("*.toml")} == set(APPLICATIONS)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_is_described(name: str) -> None:
    text = (ROOT / "docs" / "applications.md").read_text()
    heading = "nexmark" if name.startswith("nexmark-") else name
    assert any(line.startswith("## ") and heading in line.replace(",", "").split() for line in text.splitlines())
    assert f"`{name}`" in text or heading == "nexmark"
