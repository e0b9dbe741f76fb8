from pathlib import Path

import pytest
from small_scenario import write_small

from rheostat.errors import ConfigError, MissingTraceError
from rheostat.experiments.comparison.scenario_choice import choose_scenarios


def with_trace(folder: Path, name: str = "traced") -> Path:
    path = write_small(folder, name)
    text = path.read_text()
    start, end = text.index("load = "), text.index("arrivals")
    path.write_text(f'{text[:start]}load = {{ csv = "rates.csv" }}\n{text[end:]}')
    return path


def test_files_and_folders_are_read_each_file_once(tmp_path: Path) -> None:
    write_small(tmp_path, "b")
    path = write_small(tmp_path, "a")
    choice = choose_scenarios([path, tmp_path])
    assert [each.name for each in choice.scenarios] == ["a", "b"]


def test_the_digest_changes_with_the_file_and_with_its_trace(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    path = with_trace(tmp_path)
    digests = set()
    for text in ("timestamp,value\n0,10\n10,20\n", "timestamp,value\n0,10\n10,30\n"):
        (traces / "rates.csv").write_text(text)
        digests.add(choose_scenarios([path], traces).scenarios[0].digest)
    path.write_text(path.read_text() + "# changed\n")
    digests.add(choose_scenarios([path], traces).scenarios[0].digest)
    assert len(digests) == 3


def test_of_a_folder_scenarios_whose_trace_is_missing_are_left_out(tmp_path: Path) -> None:
    write_small(tmp_path)
    path = with_trace(tmp_path)
    choice = choose_scenarios([tmp_path])
    assert [each.name for each in choice.scenarios] == ["small"]
    assert "--traces DIR" in choice.left_out[str(path)]
    with pytest.raises(MissingTraceError):
        choose_scenarios([path])


def test_an_unknown_scenario_names_the_near_ones(tmp_path: Path) -> None:
    near = [str(write_small(tmp_path, name)) for name in ("batch-step", "batch-steps", "sine")][:2]
    with pytest.raises(ConfigError, match="does not exist; did you mean") as raised:
        choose_scenarios([tmp_path / "batch-stpe.toml"])
    assert all(name in str(raised.value) for name in near)
    assert "sine" not in str(raised.value)


def test_two_scenarios_of_the_same_name_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(write_small(tmp_path).read_text())
    with pytest.raises(ConfigError, match="are both called 'small'"):
        choose_scenarios([tmp_path])


def test_a_folder_without_scenarios_and_a_scenario_without_an_sla_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no scenario"):
        choose_scenarios([tmp_path])
    path = write_small(tmp_path)
    path.write_text(path.read_text().replace('[[sla]]\nlatency = "2s"\nwindow = "10s"\n', ""))
    with pytest.raises(ConfigError, match="has no SLA"):
        choose_scenarios([path])
