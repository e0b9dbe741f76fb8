"""`rheostat reproduce`: a paper's experiment, run again, beside what the paper prints."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.bar import progress_bar
from rheostat.cli.options import Json
from rheostat.errors import ConfigError
from rheostat.experiments.reproduce.catalogue import Catalogue, catalogue
from rheostat.experiments.reproduce.pages import write_docs, write_files
from rheostat.experiments.reproduce.picture import can_draw
from rheostat.experiments.reproduce.report import written
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Outcome, Reproduction

_SEEDS, _QUICK_SEEDS = 5, 2


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME|PAPER|all", help="What to run; without it, the list.", show_default=False),
    ] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List what there is to run.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, for a first look.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help=f"Runs of each case: {_SEEDS}, or {_QUICK_SEEDS} if quick.", show_default=False),
    ] = None,
    traces: Annotated[
        str | None, typer.Option(metavar="DIR", help="Recorded loads, where an experiment can use them.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where tables and pictures go.")] = Path("reproduction"),
    docs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Renew the pages of this documentation instead.")
    ] = None,
    json: Json = False,
) -> None:
    """Run experiments of the papers, and show what a paper prints beside what was found."""
    known = catalogue()
    if name is None or list_names:
        Console().print(_listed(known))
        return
    _check_folder(out if docs is None else docs)
    effort = Effort(seeds or (_QUICK_SEEDS if quick else _SEEDS), quick, traces)
    found = []
    for reproduction in known.find(name):
        outcome = _run(reproduction, effort)
        if not json:
            _show(reproduction, outcome)
        if docs is None:
            _tell(write_files(out, reproduction, outcome, effort))
        else:
            _tell(write_docs(docs, known, reproduction, outcome, effort))
        found.append(_as_dict(reproduction, outcome, effort))
    if json:
        print(msgspec.json.encode(found).decode())


def _check_folder(folder: Path) -> None:
    """Looked at before the work begins, so that hours do not end in a misspelt path."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"results cannot be written to {str(folder)!r}: it is a file, name a folder")


def _run(reproduction: Reproduction, effort: Effort) -> Outcome:
    with progress_bar() as bar:
        task = bar.add_task(reproduction.name, total=1.0)
        return reproduction.run(effort, lambda share: bar.update(task, completed=share))


def _listed(known: Catalogue) -> Table:
    table = Table("name", "paper's", "what is shown", box=None)
    for each in known.reproductions.values():
        table.add_row(each.name, each.figure, each.title)
    return table


def _show(reproduction: Reproduction, outcome: Outcome) -> None:
    console = Console()
    table = Table(*outcome.columns, title=f"{reproduction.name}: {reproduction.title}")
    for row in outcome.rows:
        table.add_row(*map(written, row))
    console.print(table)
    for claim in outcome.claims:
        console.print(_marked(claim), highlight=False)
    for note in outcome.notes:
        console.print(note, highlight=False, markup=False)


def _marked(claim: Claim) -> str:
    mark = "[green]✓ holds[/]" if claim.holds else "[red]✗ does not hold[/]"
    return f"{mark}  {claim.text}" + (f" [dim]({claim.evidence})[/]" if claim.evidence else "")


def _tell(paths: list[Path]) -> None:
    hint = "" if can_draw() else "; pictures need matplotlib: pip install 'rheostat[plot]'"
    Console(stderr=True).print(f"written: {', '.join(map(str, paths))}{hint}", style="dim", markup=False)


def _as_dict(reproduction: Reproduction, outcome: Outcome, effort: Effort) -> dict[str, Any]:
    return {
        "name": reproduction.name,
        "figure": reproduction.figure,
        "title": reproduction.title,
        "effort": effort,
        "columns": outcome.columns,
        "rows": outcome.rows,
        "claims": outcome.claims,
        "notes": outcome.notes,
    }
