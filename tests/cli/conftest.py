"""Fixtures for the command line: runs `rheostat` in this process."""

from pathlib import Path

import pytest

from rheostat.cli import main

SCENARIO = Path(__file__).parents[2] / "scenarios" / "wordcount-sine.toml"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Runs `rheostat` with these arguments; returns exit code, output and error output."""

    def rheostat(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["rheostat", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return rheostat


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A scenario that takes little time to simulate."""
    path = tmp_path / "short.toml"
    path.write_text(SCENARIO.read_text().replace('duration = "10m"', 'duration = "20s"'))
    return path
