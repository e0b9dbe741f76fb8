"""`rheostat reproduce`: experiments of the papers, run again and compared with the printed numbers."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.progress_bar import progress_bar
from rheostat.cli.shared_options import Json
from rheostat.errors import ConfigError
from rheostat.experiments.reproduce.catalogue import Catalogue, catalogue
from rheostat.experiments.reproduce.markdown import cell_text
from rheostat.experiments.reproduce.output_files import can_draw, write_docs, write_files
from rheostat.experiments.reproduce.reproduction import Claim, Effort, Reproduction, ReproductionResult

_SEEDS, _QUICK_SEEDS = 5, 2


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|PAPER|all", help="What to run. Without it, all names are listed.", show_default=False
        ),
    ] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List all names.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs and fewer cases, for a first look.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Runs of each case. Default: {_SEEDS}, or {_QUICK_SEEDS} with --quick.", show_default=False
        ),
    ] = None,
    traces: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder with recorded loads, used by experiments that can.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for tables and pictures.")] = Path("reproduction"),
    docs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Update the pages of this documentation folder instead.")
    ] = None,
    json: Json = False,
) -> None:
    """Run experiments of the papers and show the printed numbers next to the measured ones."""
    known = catalogue()
    if name is None or list_names:
        Console().print(_table_of_names(known))
        return
    _check_folder(out if docs is None else docs)
    effort = Effort(seeds or (_QUICK_SEEDS if quick else _SEEDS), quick, traces)
    found = []
    for reproduction in known.find(name):
        result = _run(reproduction, effort)
        if not json:
            _show(reproduction, result)
        if docs is None:
            _print_paths(write_files(out, reproduction, result, effort))
        else:
            _print_paths(write_docs(docs, known, reproduction, result, effort))
        found.append(_as_dict(reproduction, result, effort))
    if json:
        print(msgspec.json.encode(found).decode())


def _check_folder(folder: Path) -> None:
    """Called before the work begins, which may take hours."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"results cannot be written to {str(folder)!r}: it is a file, give a folder")


def _run(reproduction: Reproduction, effort: Effort) -> ReproductionResult:
    with progress_bar() as bar:
        task = bar.add_task(reproduction.name, total=1.0)
        return reproduction.run(effort, lambda share: bar.update(task, completed=share))


def _table_of_names(known: Catalogue) -> Table:
    table = Table("name", "in the paper", "what it shows", box=None)
    for each in known.reproductions.values():
        table.add_row(each.name, each.figure, each.title)
    return table


def _show(reproduction: Reproduction, result: ReproductionResult) -> None:
    console = Console()
    table = Table(*result.columns, title=f"{reproduction.name}: {reproduction.title}")
    for row in result.rows:
        table.add_row(*map(cell_text, row))
    console.print(table)
    for claim in result.claims:
        console.print(_marked(claim), highlight=False)
    for note in result.notes:
        console.print(note, highlight=False, markup=False)


def _marked(claim: Claim) -> str:
    mark = "[green]✓ holds[/]" if claim.holds else "[red]✗ does not hold[/]"
    notes = [
        claim.evidence,
        f"not counted: {claim.given}" if claim.shows_nothing else "",
        "" if claim.holds else claim.why,
    ]
    shown = "; ".join(filter(None, notes))
    return f"{mark}  {claim.text}" + (f" [dim]({shown})[/]" if shown else "")


def _print_paths(paths: list[Path]) -> None:
    hint = "" if can_draw() else "; pictures need matplotlib: pip install 'rheostat[plot]'"
    Console(stderr=True).print(f"written: {', '.join(map(str, paths))}{hint}", style="dim", markup=False)


def _as_dict(reproduction: Reproduction, result: ReproductionResult, effort: Effort) -> dict[str, Any]:
    return {
        "name": reproduction.name,
        "figure": reproduction.figure,
        "title": reproduction.title,
        "effort": effort,
        "columns": result.columns,
        "rows": result.rows,
        "claims": result.claims,
        "notes": result.notes,
    }
