"""Markdown: a reproduction's setting, picture, table, claims and notes as a section of a page."""

from collections.abc import Iterator, Sequence

from rheostat.experiments.replicate import Mean
from rheostat.experiments.reproduce.reproduction import Cell, Claim, Effort, Reproduction, ReproductionResult

UNKNOWN = "The reason is not known."
_QUICK = "A quick run: shorter runs and fewer cases than without `--quick`."


def section(reproduction: Reproduction, result: ReproductionResult, effort: Effort, picture: str | None) -> str:
    """A section of a page; `picture` is the relative address of its picture."""
    return "\n\n".join(_paragraphs(reproduction, result, effort, picture)) + "\n"


def _paragraphs(
    reproduction: Reproduction, result: ReproductionResult, effort: Effort, picture: str | None
) -> Iterator[str]:
    yield f"## {heading(reproduction, result)}"
    if reproduction.setting:
        yield reproduction.setting
    if result.recorded:
        yield f"The input is `{result.recorded}`."
    yield f"```sh\n{command(reproduction, result, effort)}\n```"
    if effort.quick:
        yield _QUICK
    if picture is not None:
        yield f"![{heading(reproduction, result)}]({picture})"
    yield table(result.columns, result.rows)
    if result.claims:
        yield "\n".join(f"- {sentence(claim)}" for claim in result.claims)
    yield from result.notes


def heading(reproduction: Reproduction, result: ReproductionResult) -> str:
    recorded = ", recorded" if result.recorded else ""
    return f"{reproduction.figure}: {reproduction.title}{recorded}"


def command(reproduction: Reproduction, result: ReproductionResult, effort: Effort) -> str:
    """The command that gives this result again."""
    quick = " --quick" if effort.quick else ""
    traces = " --traces DIR" if result.recorded else ""
    return f"rheostat reproduce {reproduction.name} --seeds {effort.seeds}{quick}{traces}"


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [_line(columns), _line(["---"] * len(columns)), *(_line([cell_text(cell) for cell in row]) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def cell_text(cell: Cell) -> str:
    """The text of a table cell; a mean has its 95 % confidence interval."""
    match cell:
        case None:
            return "–"
        case str():
            return cell
        case int():
            return f"{cell:,}"
        case Mean(mean=mean, half_width=None):
            return _number(mean)
        case Mean(mean=mean, half_width=half_width):
            return f"{_number(mean)} ± {_number(float(f'{half_width:.2g}'))}"
        case _:
            return _number(cell)


def _number(value: float) -> str:
    """Four digits, in plain notation where it is no longer than a power of ten."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def sentence(claim: Claim) -> str:
    """A claim with its verdict; if it fails with the reason, if it shows nothing with a note that it is not counted."""
    held = "holds" if claim.holds else "**does not hold**"
    counted = f", not counted: {claim.given}" if claim.shows_nothing else ""
    evidence = f" ({claim.evidence})" if claim.evidence else ""
    return f"{claim.text}: {held}{counted}{evidence}" + ("" if claim.holds else f". {claim.why or UNKNOWN}")
