import json
from pathlib import Path

import pytest


@pytest.fixture
def journal(run, short: Path, tmp_path: Path) -> Path:  # type: ignore[no-untyped-def]
    path = tmp_path / "run.journal"
    assert run("simulate", str(short), "--policy", "drs", "--journal", str(path))[0] == 0
    return path


def test_a_run_is_explained_as_text_and_as_json(run, journal: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("explain", str(journal))
    assert code == 0
    assert out.startswith("run 1 of word count, sine: policy drs, SLA 500ms over 10s")
    assert all(word in out for word in ("scale to", "measured: ", "predicted: ", "observed: ", " turns, "))
    code, out, _ = run("explain", str(journal), "--json", "--operator", "split")
    [explained] = json.loads(out)
    assert (code, explained["policy"]) == (0, "drs")
    assert {name for entry in explained["entries"] for name in entry["subjects"]} == {"split"}


def test_a_turn_is_explained_as_text_and_as_json(run, journal: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("explain", str(journal), "--at", "10s", "--operator", "count")
    assert code == 0
    assert out.startswith("turn at 10s, run 1, policy drs")
    assert "split: " not in out
    _, out, _ = run("explain", str(journal), "--at", "10.5", "--json")
    assert json.loads(out)["turn"]["time_s"] == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "5h"], "--at 5h is outside of what was recorded: 0s to 20s after the start"),
        (["--at", "noon"], "--at 'noon' is not a time"),
        (["--operator", "cont"], "did you mean 'count'"),
    ],
)
def test_mistakes_are_reported_in_one_line(run, journal: Path, arguments: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("explain", str(journal), *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
