"""Reports on a recorded run."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from dashboard_runs import SCRIPT

from rheostat.errors import ConfigError, JournalError
from rheostat.journal import Journal
from rheostat.loop.turn import Ruling
from rheostat.web.report import write_report


class Reader(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def page(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("matplotlib")
    path = tmp_path_factory.mktemp("report") / "run.html"
    write_report(recorded, path)
    return path.read_text()


def test_it_has_summary_picture_decisions_configuration_and_versions(page: str, recorded: Path) -> None:
    read = Reader(page)
    words = " ".join(read.words)
    with Journal(recorded, read_only=True) as journal:
        totals, decisions = journal.totals(), journal.decisions()
    assert f"{1 - totals.missed / totals.judged:.1%}" in words
    assert f"{totals.missed:,} of {totals.judged:,}" in words
    for one in decisions:
        if one.ruling is Ruling.ACCEPTED:
            assert one.decision.reason in words
    assert "policy threshold with" in words
    assert "Cost, executor-hours" in words
    assert '"total":9' in words
    assert {"python", "rheostat", "numpy"} <= set(read.words)
    assert [tag for tag, _ in read.tags].count("svg") == 1


def test_it_loads_nothing_and_names_stay_text(page: str) -> None:
    read = Reader(page)
    assert not {tag for tag, _ in read.tags} & {"script", "link", "img", "iframe"}
    assert SCRIPT in " ".join(read.words)
    loaded = [value for _, attributes in read.tags for name, value in attributes.items() if name in ("src", "href")]
    assert [value for value in loaded if not str(value).startswith("#")] == []
    assert not re.search(r"url\((?!#)|@import", page)


@pytest.mark.parametrize(("name", "start"), [("run.png", b"\x89PNG"), ("run.svg", b"<?xml")])
def test_its_picture_is_a_file_by_itself(recorded: Path, tmp_path: Path, name: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    write_report(recorded, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_what_cannot_be_written_or_read_is_refused(recorded: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"must end in \.html, or for its picture in \.png, \.svg, \.pdf"):
        write_report(recorded, tmp_path / "run.txt")
    with pytest.raises(ConfigError, match="give a file in an existing folder"):
        write_report(recorded, tmp_path / "none" / "run.html")
    Journal(tmp_path / "empty.db").close()
    with pytest.raises(JournalError, match="no turn was recorded"):
        write_report(tmp_path / "empty.db", tmp_path / "run.html")
