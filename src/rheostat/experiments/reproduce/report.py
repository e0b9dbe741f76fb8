"""An outcome as Markdown: what was set up, the picture, the table, the claims, and how to read them."""

from collections.abc import Iterator, Sequence

from rheostat.experiments.replicate import Mean
from rheostat.experiments.reproduce.reproduction import Cell, Claim, Effort, Outcome, Reproduction

_QUICK = "A quick look: runs are shorter, and cases fewer, than without `--quick`."


def section(reproduction: Reproduction, outcome: Outcome, effort: Effort, picture: str | None) -> str:
    """A section of a page; `picture` is its address from there."""
    return "\n\n".join(_paragraphs(reproduction, outcome, effort, picture)) + "\n"


def _paragraphs(reproduction: Reproduction, outcome: Outcome, effort: Effort, picture: str | None) -> Iterator[str]:
    yield f"## {heading(reproduction, outcome)}"
    if reproduction.setting:
        yield reproduction.setting
    if outcome.recorded:
        yield f"The input is `{outcome.recorded}`."
    yield f"```sh\n{command(reproduction, outcome, effort)}\n```"
    if effort.quick:
        yield _QUICK
    if picture is not None:
        yield f"![{heading(reproduction, outcome)}]({picture})"
    yield table(outcome.columns, outcome.rows)
    if outcome.claims:
        yield "\n".join(f"- {sentence(claim)}" for claim in outcome.claims)
    yield from outcome.notes


def heading(reproduction: Reproduction, outcome: Outcome) -> str:
    recorded = ", recorded" if outcome.recorded else ""
    return f"{reproduction.figure}: {reproduction.title}{recorded}"


def command(reproduction: Reproduction, outcome: Outcome, effort: Effort) -> str:
    """What to type for the same result."""
    quick = " --quick" if effort.quick else ""
    traces = " --traces DIR" if outcome.recorded else ""
    return f"rheostat reproduce {reproduction.name} --seeds {effort.seeds}{quick}{traces}"


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [_line(columns), _line(["---"] * len(columns)), *(_line([written(cell) for cell in row]) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def written(cell: Cell) -> str:
    """A cell as it stands in a table; a mean with its 95 % interval."""
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
    """Four digits, and never as a power of ten where a plain number is as short."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def sentence(claim: Claim) -> str:
    held = "holds" if claim.holds else "**does not hold**"
    return f"{claim.text}: {held}" + (f" ({claim.evidence})" if claim.evidence else "")
