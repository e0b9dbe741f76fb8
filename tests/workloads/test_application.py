"""Every application is found by name, generates input from a seed, and replays files."""

import json
from pathlib import Path

import pytest

from rheostat.errors import ConfigError
from rheostat.workloads.application import APPLICATIONS, application


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_same_seed_makes_the_same_records(name: str) -> None:
    found = application(name)
    first, again = found.generate(7), found.generate(7)
    made = [first(0.01 * n) for n in range(200)]
    assert made == [again(0.01 * n) for n in range(200)]
    assert made != [application(name).generate(8)(0.01 * n) for n in range(200)]
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_topology_has_the_name_of_its_application(name: str, tmp_path: Path) -> None:
    assert application(name).topology(tmp_path).name == name


def test_files_are_replayed_line_by_line_and_then_end(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"text": "three"}\n')
    (tmp_path / "a.json").write_text('{"text": "one"}\n{broken\n7\n')
    (tmp_path / "empty.json").touch()
    make = application("wordcount").replay([tmp_path])
    assert [make(0.0) for _ in range(5)] == [{"text": "one"}, "{broken", "7", {"text": "three"}, None]


def test_a_path_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no file and no folder with files"):
        application("wordcount").replay([tmp_path])
