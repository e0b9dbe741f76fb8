from pathlib import Path


def test_a_journal_is_written_and_replayed(run, short: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    journal = tmp_path / "run.journal"
    assert run("simulate", str(short), "--journal", str(journal))[0] == 0
    code, out, _ = run("replay", str(journal), "--policy", "threshold")
    assert code == 0
    assert ", 0 differ" in out
