"""Where results are kept: as files of their own, or in pages of documentation, one for each paper and an index.

In a page each section stands between two comments with its name. A run of some reproductions renews their sections
and leaves the others as they are.
"""

import re
from pathlib import Path

from rheostat.experiments.reproduce.catalogue import Catalogue
from rheostat.experiments.reproduce.picture import save_picture
from rheostat.experiments.reproduce.report import heading, section
from rheostat.experiments.reproduce.reproduction import Effort, Outcome, Paper, Reproduction

_SECTION = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->\n", re.DOTALL)
_ROW = re.compile(r"^\| \[(\S+)\].*\|$", re.MULTILINE)
_INTRODUCTION = """# Reproduction

The papers' experiments on the simulator: the numbers that a paper prints beside those found here, its claims with
whether they hold, and a picture. `rheostat reproduce` lists the names, `rheostat reproduce NAME` runs one, `--quick`
takes a shorter look. `rheostat reproduce all --docs docs` writes these pages.
"""
_RECORDED = "-traces"
_HEADER = "| name | experiment | claims that hold |\n| --- | --- | --- |\n"


def write_files(folder: Path, reproduction: Reproduction, outcome: Outcome, effort: Effort) -> list[Path]:
    """`NAME.md` and `NAME.png` in `folder`."""
    name = _name(reproduction, outcome)
    page, picture = folder / f"{name}.md", folder / f"{name}.png"
    drawn = save_picture(outcome, picture)
    _write(page, section(reproduction, outcome, effort, picture.name if drawn else None))
    return [page, picture] if drawn else [page]


def write_docs(
    docs: Path, catalogue: Catalogue, reproduction: Reproduction, outcome: Outcome, effort: Effort
) -> list[Path]:
    """Renew the section of `reproduction` in its paper's page, its picture, and its row in the index."""
    name = _name(reproduction, outcome)
    picture = docs / "images" / "reproduction" / f"{name}.png"
    address = f"../images/reproduction/{picture.name}" if save_picture(outcome, picture) else None
    page, index = docs / "reproduction" / f"{reproduction.paper}.md", docs / "reproduction.md"
    text = section(reproduction, outcome, effort, address)
    _write(page, renewed_page(_text(page), catalogue, reproduction, name, text))
    _write(index, renewed_index(_text(index), catalogue, reproduction, name, outcome))
    return [page, picture] if address else [page]


def renewed_page(page: str, catalogue: Catalogue, reproduction: Reproduction, name: str, text: str) -> str:
    """The page of a paper with `text` as the section `name` of `reproduction`, in the catalogue's order."""
    paper = catalogue.papers[reproduction.paper]
    sections = dict(_SECTION.findall(page)) | {name: text}
    names = [each for each in _names(catalogue, paper) if each in sections]
    parts = [f"<!-- begin {name} -->\n{sections[name]}<!-- end {name} -->\n" for name in names]
    return "\n".join([f"# {paper.title}\n\n{paper.about}\n", *parts])


def renewed_index(index: str, catalogue: Catalogue, reproduction: Reproduction, name: str, outcome: Outcome) -> str:
    """The index with the row `name` of `reproduction` as `outcome` has it."""
    rows = {match[1]: match[0] for match in _ROW.finditer(index)}
    rows[name] = _row(reproduction, name, outcome)
    parts = [_INTRODUCTION]
    for paper in catalogue.papers.values():
        lines = [rows[each] + "\n" for each in _names(catalogue, paper) if each in rows]
        if lines:
            parts.append(f"## [{paper.title}](reproduction/{paper.name}.md)\n\n{_HEADER}{''.join(lines)}")
    return "\n".join(parts)


def _names(catalogue: Catalogue, paper: Paper) -> list[str]:
    """All that the page of a paper may have: of each reproduction what came of it, and that from recorded loads."""
    return [name for each in catalogue.of(paper.name) for name in (each.name, f"{each.name}{_RECORDED}")]


def _name(reproduction: Reproduction, outcome: Outcome) -> str:
    """What a result is kept under: one from a recorded load stands beside the one from a generated load."""
    return f"{reproduction.name}{_RECORDED}" if outcome.recorded else reproduction.name


def _row(reproduction: Reproduction, name: str, outcome: Outcome) -> str:
    held = f"{sum(claim.holds for claim in outcome.claims)} of {len(outcome.claims)}"
    address = f"reproduction/{reproduction.paper}.md"
    return f"| [{name}]({address}) | {heading(reproduction, outcome)} | {held} |"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
