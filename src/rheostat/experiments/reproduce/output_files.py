"""Output files: results written to files of their own, or into the documentation (a page for each paper, and an index).

In a page, each section is enclosed by two comments with its name. Running some of the reproductions updates their
sections and keeps the others.
"""

import re
from importlib.util import find_spec
from pathlib import Path

from rheostat.experiments.reproduce.catalogue import Catalogue
from rheostat.experiments.reproduce.markdown import heading, section, table
from rheostat.experiments.reproduce.reproduction import Effort, Paper, Reproduction, ReproductionResult

_SECTION = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->\n", re.DOTALL)
_ROW = re.compile(r"^\| \[(\S+)\].*\|$", re.MULTILINE)
_INTRODUCTION = """# Reproduction

The papers' experiments on the simulator: the numbers that a paper prints next to those measured here, its claims and
whether they hold, and a picture. `rheostat reproduce` lists the names, `rheostat reproduce NAME` runs one, `--quick`
makes the runs shorter. `rheostat reproduce all --docs docs` writes these pages.

A claim that holds by construction, because a number that a paper does not state was chosen or fitted so that it does,
is marked and not counted. A claim that fails has the reason where an experiment here shows one; elsewhere it is not
known. The table compares with the results before the last changes of the policies, of the simulator and of the
experiments, when fewer claims were listed.
"""
_BEFORE = {"dabs": (8, 14), "drs": (20, 24), "pasps": (38, 72), "rastream": (10, 22), "streamswitch": (29, 35)}
"""Claims that held, and all that counted, before policies, simulator and experiments were last changed."""

_RECORDED = "-traces"
_HEADER = "| name | experiment | claims that hold | not counted |\n| --- | --- | --- | --- |\n"
_HELD = re.compile(r"\| (\d+) of (\d+) \|")
_WIDTH_IN, _HEIGHT_IN, _DPI = 7.5, 4.2, 90


def write_files(folder: Path, reproduction: Reproduction, result: ReproductionResult, effort: Effort) -> list[Path]:
    """Write `NAME.md` and `NAME.png` to `folder`."""
    name = _name(reproduction, result)
    page, picture = folder / f"{name}.md", folder / f"{name}.png"
    drawn = save_picture(result, picture)
    _write(page, section(reproduction, result, effort, picture.name if drawn else None))
    return [page, picture] if drawn else [page]


def write_docs(
    docs: Path, catalogue: Catalogue, reproduction: Reproduction, result: ReproductionResult, effort: Effort
) -> list[Path]:
    """Update the section of `reproduction` in its paper's page, its picture, and its row in the index."""
    name = _name(reproduction, result)
    picture = docs / "images" / "reproduction" / f"{name}.png"
    address = f"../images/reproduction/{picture.name}" if save_picture(result, picture) else None
    page, index = docs / "reproduction" / f"{reproduction.paper}.md", docs / "reproduction.md"
    text = section(reproduction, result, effort, address)
    _write(page, updated_page(_text(page), catalogue, reproduction, name, text))
    _write(index, updated_index(_text(index), catalogue, reproduction, name, result))
    return [page, picture] if address else [page]


def can_draw() -> bool:
    """Whether matplotlib is installed; without it only tables are written."""
    return find_spec("matplotlib") is not None


def save_picture(result: ReproductionResult, path: Path) -> bool:
    """Draw `result` into the file at `path`; False if it has no picture or matplotlib is missing."""
    if result.draw is None or not can_draw():
        return False
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
    result.draw(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=_DPI)
    return True


def updated_page(page: str, catalogue: Catalogue, reproduction: Reproduction, name: str, text: str) -> str:
    """The page of a paper with `text` as the section `name` of `reproduction`, in the order of the catalogue."""
    paper = catalogue.papers[reproduction.paper]
    sections = dict(_SECTION.findall(page)) | {name: text}
    names = [each for each in _names(catalogue, paper) if each in sections]
    parts = [f"<!-- begin {name} -->\n{sections[name]}<!-- end {name} -->\n" for name in names]
    return "\n".join([f"# {paper.title}\n\n{paper.about}\n", *parts])


def updated_index(
    index: str, catalogue: Catalogue, reproduction: Reproduction, name: str, result: ReproductionResult
) -> str:
    """The index with a new row `name` for `reproduction`."""
    rows = {match[1]: match[0] for match in _ROW.finditer(index)}
    rows[name] = _row(reproduction, name, result)
    parts = [_INTRODUCTION, _summary(catalogue, rows)]
    for paper in catalogue.papers.values():
        lines = [rows[each] + "\n" for each in _names(catalogue, paper) if each in rows]
        if lines:
            parts.append(f"## [{paper.title}](reproduction/{paper.name}.md)\n\n{_HEADER}{''.join(lines)}")
    return "\n".join(parts)


def _summary(catalogue: Catalogue, rows: dict[str, str]) -> str:
    """How many claims of each paper hold, over all of its experiments, and how many did before the last changes."""
    lines: list[tuple[str | None, ...]] = []
    for paper in catalogue.papers.values():
        counts = [_HELD.search(rows[each]) for each in _names(catalogue, paper) if each in rows]
        held, total = (sum(int(match[group]) for match in counts if match) for group in (1, 2))
        if total:
            before = _BEFORE.get(paper.name)
            lines.append((paper.title.partition(":")[0], before and _share(*before), _share(held, total)))
    return table(("paper", "claims that held before", "claims that hold"), lines) + "\n"


def _share(held: int, total: int) -> str:
    return f"{held} of {total} ({held / total:.0%})"


def _names(catalogue: Catalogue, paper: Paper) -> list[str]:
    """All sections that the page of a paper may have: with a generated and with a recorded load."""
    return [name for each in catalogue.of(paper.name) for name in (each.name, f"{each.name}{_RECORDED}")]


def _name(reproduction: Reproduction, result: ReproductionResult) -> str:
    """The name of a result; one with a recorded load is kept next to the one with a generated load."""
    return f"{reproduction.name}{_RECORDED}" if result.recorded else reproduction.name


def _row(reproduction: Reproduction, name: str, result: ReproductionResult) -> str:
    counted = [claim.holds for claim in result.claims if not claim.shows_nothing]
    address = f"reproduction/{reproduction.paper}.md"
    held = f"{sum(counted)} of {len(counted)}"
    return f"| [{name}]({address}) | {heading(reproduction, result)} | {held} | {len(result.claims) - len(counted)} |"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
