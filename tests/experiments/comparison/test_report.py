"""The report is well-formed HTML, has what was compared, and loads nothing."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from compared_runs import compared_run
from small_scenario import write_small

from rheostat.experiments.comparison.comparison import (
    ComparedScenario,
    Comparison,
    ComparisonRequest,
    FailedJob,
    compare,
)
from rheostat.experiments.comparison.figures import entry_of
from rheostat.experiments.comparison.report.page import report, write_report
from rheostat.experiments.comparison.report.svg import AxisScale, round_step
from rheostat.experiments.comparison.scenario_choice import choose_scenarios

VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Checks that elements are closed in their order, and collects what they refer to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.tags: set[str] = set()
        self.ids: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references += [value or "" for name, value in attrs if name in ("href", "src", "data", "action")]
        self.ids |= {value or "" for name, value in attrs if name == "id"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("report")
    request = ComparisonRequest(
        choice=choose_scenarios([write_small(folder)]),
        policies=("static", "threshold"),
        plant="sim",
        seeds=(0,),
        tuned=False,
        reference_runs=3,
        processes=1,
        out=folder / "out",
    )
    return compare(request)


def test_the_page_is_well_formed_and_refers_to_nothing_outside(found: Comparison) -> None:
    page = report(found)
    reader = Reader(page)
    assert reader.open == []
    assert all(link.startswith("#") and link[1:] in reader.ids for link in reader.references)
    assert "script" not in reader.tags
    assert re.findall(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page) == []


def test_the_pictures_are_well_formed_and_show_each_policy(found: Comparison) -> None:
    pictures = [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", report(found), re.DOTALL)]
    assert len(pictures) == 2
    for picture in pictures:
        texts = " ".join(each.text or "" for each in picture.iter("{http://www.w3.org/2000/svg}text"))
        assert "static" in texts
        assert "threshold" in texts
        assert "best schedule" in texts


def test_text_from_outside_is_escaped(found: Comparison) -> None:
    evil = '<script>alert("x")</script>&'
    (scenario,) = found.scenarios
    entry = entry_of([compared_run(evil)], {"option": evil}, None)
    changed = msgspec.structs.replace(
        found,
        scenarios=(
            msgspec.structs.replace(scenario, name=evil, cannot_be_met=(evil,), not_run={evil: evil}, entries=(entry,)),
        ),
        failed=(FailedJob(evil, evil),),
        left_out={evil: evil},
    )
    page = report(changed)
    assert "<script" not in page
    assert Reader(page).open == []


def test_a_scenario_without_any_result_has_no_picture(found: Comparison) -> None:
    (scenario,) = found.scenarios
    empty: ComparedScenario = msgspec.structs.replace(scenario, entries=(), references={}, cost_of_reference=None)
    page = report(msgspec.structs.replace(found, scenarios=(empty,), ranking={"default": ()}))
    assert "<svg" not in page
    assert Reader(page).open == []


def test_the_report_is_written_in_the_encoding_that_it_names(found: Comparison, tmp_path: Path) -> None:
    write_report(found, tmp_path / "report.html")
    assert '<meta charset="utf-8">' in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("least", "step"), [(0.03, 0.05), (1.0, 1.0), (1.1, 2.0), (2.1, 2.5), (7.0, 10.0), (0.0, 1.0)])
def test_steps_are_round(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


def test_a_scale_keeps_values_within_its_ends() -> None:
    scale = AxisScale(0.0, 10.0, 100.0, 0.0)
    assert [scale(value) for value in (-5.0, 0.0, 5.0, 99.0)] == [100.0, 100.0, 50.0, 0.0]
    assert scale.ticks(5) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
