from collections.abc import Iterator
from pathlib import Path

import pytest
from dashboard_runs import LiveRun, live_run, record


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("web") / "run.db"
    record(path)
    return path


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveRun]:
    with live_run(tmp_path / "live.db") as run:
        yield run
