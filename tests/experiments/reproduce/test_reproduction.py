import re
from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.errors import ConfigError
from rheostat.experiments.replicate import Mean
from rheostat.experiments.reproduce.catalogue import Catalogue, catalogue
from rheostat.experiments.reproduce.markdown import cell_text, command, sentence
from rheostat.experiments.reproduce.output_files import write_docs, write_files
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Paper, Progress, Reproduction, ReproductionResult
from rheostat.experiments.reproduce.sweep import Case, scenario_of, sweep

EFFORT = Effort(seeds=2, quick=True)


def result(held: bool = True, recorded: str | None = None) -> ReproductionResult:
    return ReproductionResult(
        columns=("case", "paper", "here"),
        rows=(("one", 1.5, Mean(1.4, 0.05)), ("two", None, 3)),
        claims=(Claim("two is more than one", held, "3 against 1.4"),),
        notes=("Both are small.",),
        draw=lambda figure: figure.subplots().plot([1, 2], [1.4, 3]),
        recorded=recorded,
    )


def reproduction(name: str, figure: str = "Figure 2") -> Reproduction:
    def run(effort: Effort, progress: Progress) -> ReproductionResult:
        progress(1.0)
        return result()

    return Reproduction(name, figure, f"what {name} shows", run, setting="μ = 3.")


@pytest.fixture
def small() -> Catalogue:
    made = [reproduction(name) for name in ("ink-fig2", "ink-fig10", "oak-fig1")]
    papers = {name: Paper(name, f"On {name}", f"About {name}.") for name in ("ink", "oak")}
    return Catalogue(papers, {each.name: each for each in made})


def test_a_word_means_one_reproduction_or_those_of_a_paper_or_all(small: Catalogue) -> None:
    assert [each.name for each in small.find("ink-fig2")] == ["ink-fig2"]
    assert [each.name for each in small.find("ink")] == ["ink-fig2", "ink-fig10"]
    assert [each.name for each in small.find("all")] == ["ink-fig2", "ink-fig10", "oak-fig1"]


def test_an_unknown_name_is_answered_with_a_near_one(small: Catalogue) -> None:
    with pytest.raises(ConfigError, match=r"no reproduction 'ink-fig3'; did you mean 'ink-fig2'\?"):
        small.find("ink-fig3")


def test_every_reproduction_of_the_package_belongs_to_a_paper_and_says_what_it_is() -> None:
    found = catalogue()
    assert found.reproductions
    for name, each in found.reproductions.items():
        assert each.paper in found.papers
        assert re.fullmatch(r"[a-z]+-(fig|table|section)\d+[a-z]?", name)
        assert re.match(r"(Figures?|Tables?|Section) ", each.figure)
        assert each.title


def test_figures_stand_in_the_order_of_their_numbers_before_tables() -> None:
    names = [each.name for each in catalogue().of("drs")]
    numbers = [int("".join(filter(str.isdigit, name))) for name in names if "fig" in name]
    assert numbers == sorted(numbers)
    assert names[-1] == "drs-table2"


def test_a_table_refuses_rows_of_another_length() -> None:
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        ReproductionResult(("a", "b"), (("only one",),))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        ("2:4:1", "2:4:1"),
        (130, "130"),
        (0.123456, "0.1235"),
        (14_854_215.0, "14,854,215"),
        (Mean(8.4012, None), "8.401"),
        (Mean(8.4012, 0.0123), "8.401 ± 0.012"),
        (Mean(750.7, 543.2), "750.7 ± 540"),
    ],
)
def test_cells_are_formatted(cell: str | int | float | Mean | None, text: str) -> None:
    assert cell_text(cell) == text


def test_a_claim_that_does_not_hold_is_marked() -> None:
    assert sentence(Claim("it rises", True, "1 to 2")) == "it rises: holds (1 to 2)"
    assert sentence(Claim("it rises", False)) == "it rises: **does not hold**. The reason is not known."


def test_a_claim_that_fails_says_why_and_one_that_was_fitted_is_marked() -> None:
    assert sentence(Claim("it rises", False, "2 to 1", why="Fig. 3 shows it.")) == (
        "it rises: **does not hold** (2 to 1). Fig. 3 shows it."
    )
    assert sentence(Claim("it rises", True, why="Fig. 3 shows it.")) == "it rises: holds"
    assert sentence(Claim("it is 7", True, given="it was set to 7")) == "it is 7: holds, not counted: it was set to 7"


def test_claims_that_were_fitted_are_not_counted_and_those_of_a_paper_are_summed_up(
    small: Catalogue, tmp_path: Path
) -> None:
    claims = (Claim("one", True), Claim("two", False), Claim("three", True, given="chosen"))
    for name in ("ink-fig2", "ink-fig10"):
        write_docs(tmp_path, small, small.reproductions[name], replace(result(), claims=claims), EFFORT)
    index = (tmp_path / "reproduction.md").read_text()
    assert "what ink-fig2 shows | 1 of 2 | 1 |" in index
    assert "| On ink | – | 2 of 4 (50%) |" in index
    assert "On oak" not in index


def test_the_command_gives_the_same_result_again() -> None:
    assert command(reproduction("ink-fig2"), result(), EFFORT) == "rheostat reproduce ink-fig2 --seeds 2 --quick"


def test_files_have_table_claims_notes_and_picture(small: Catalogue, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page, picture = write_files(tmp_path, small.reproductions["oak-fig1"], result(), EFFORT)
    text = page.read_text()
    assert "| one | 1.5 | 1.4 ± 0.05 |" in text
    assert "two is more than one: holds (3 against 1.4)" in text
    assert "Both are small." in text
    assert "(oak-fig1.png)" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_documentation_is_updated_section_by_section_in_the_order_of_the_catalogue(
    small: Catalogue, tmp_path: Path
) -> None:
    for name in ("ink-fig10", "ink-fig2", "oak-fig1"):
        write_docs(tmp_path, small, small.reproductions[name], result(), EFFORT)
    page = tmp_path / "reproduction" / "ink.md"
    before = page.read_text()
    assert before.startswith("# On ink\n\nAbout ink.\n")
    assert before.index("ink-fig2 -->") < before.index("ink-fig10 -->")
    write_docs(tmp_path, small, small.reproductions["ink-fig10"], result(held=False), EFFORT)
    kept, renewed = before.index("<!-- begin ink-fig10"), page.read_text()
    assert renewed[:kept] == before[:kept]
    assert "**does not hold**" in renewed[kept:]


def test_a_result_with_a_recorded_load_is_kept_next_to_the_one_with_a_generated_load(
    small: Catalogue, tmp_path: Path
) -> None:
    recorded = Effort(seeds=2, traces="somewhere")
    for name in ("ink-fig10", "ink-fig2"):
        write_docs(tmp_path, small, small.reproductions[name], result(), EFFORT)
    write_docs(tmp_path, small, small.reproductions["ink-fig2"], result(recorded="rain.csv"), recorded)
    write_docs(tmp_path, small, small.reproductions["ink-fig10"], result(), recorded)  # it does not use traces
    page, index = (tmp_path / "reproduction" / "ink.md").read_text(), (tmp_path / "reproduction.md").read_text()
    sections = ["ink-fig2", "ink-fig2-traces", "ink-fig10"]
    assert re.findall(r"<!-- begin (\S+) -->", page) == sections
    assert re.findall(r"\| \[(\S+)\]", index) == sections
    assert page.count("The input is `rain.csv`.") == page.count("--traces DIR") == 1
    assert "what ink-fig2 shows, recorded | 1 of 1 | 0 |" in index


def test_the_index_counts_the_claims_that_hold_and_keeps_the_rows_of_others(small: Catalogue, tmp_path: Path) -> None:
    for name, held in (("oak-fig1", True), ("ink-fig2", False)):
        write_docs(tmp_path, small, small.reproductions[name], result(held), EFFORT)
    index = (tmp_path / "reproduction.md").read_text()
    assert "| [ink-fig2](reproduction/ink.md) | Figure 2: what ink-fig2 shows | 0 of 1 | 0 |" in index
    assert "| [oak-fig1](reproduction/oak.md) | Figure 2: what oak-fig1 shows | 1 of 1 | 0 |" in index
    assert "ink-fig10" not in index


def test_a_sweep_runs_every_case_with_every_seed_and_reports_progress() -> None:
    scenario = scenario_of(
        name="tiny",
        duration="5s",
        source=[{"name": "in", "load": 20}],
        operator=[{"name": "work", "inputs": ["in"], "service": {"mean": "10ms"}}],
    )
    shares: list[float] = []
    found = sweep({n: Case(scenario, "static") for n in (1, 2)}, Effort(seeds=2), shares.append)
    assert [[each.seed for each in results] for results in found.values()] == [[0, 1], [0, 1]]
    assert shares == [0.25, 0.5, 0.75, 1.0]
