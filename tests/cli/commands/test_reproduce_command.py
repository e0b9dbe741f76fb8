import json
from pathlib import Path

import pytest

from rheostat.cli import main


def rheostat(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["rheostat", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_without_a_name_the_reproductions_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rheostat(monkeypatch, "reproduce") == 0
    out = capsys.readouterr().out
    assert "drs-table2" in out
    assert "streamswitch-fig5" in out


def test_an_unknown_name_ends_with_a_near_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rheostat(monkeypatch, "reproduce", "drs-table3") == 2
    assert "did you mean 'drs-table2'?" in capsys.readouterr().err


def test_a_figure_that_shares_its_runs_with_another_is_found_by_its_own_name() -> None:
    from rheostat.experiments.reproduce.catalogue import catalogue

    [found] = catalogue().find("streamswitch-fig11")
    assert found.name == "streamswitch-fig10"


def test_table_and_picture_are_written_and_the_numbers_printed_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert rheostat(monkeypatch, "reproduce", "drs-table2", "--quick", "--json", "--out", str(tmp_path)) == 0
    [printed] = json.loads(capsys.readouterr().out)
    assert printed["name"] == "drs-table2"
    assert [row[0] for row in printed["rows"]] == [12, 24, 48, 96, 192]
    assert all(isinstance(claim["holds"], bool) for claim in printed["claims"])
    assert "| 192 | 1.25 |" in (tmp_path / "drs-table2.md").read_text()
