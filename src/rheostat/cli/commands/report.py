"""`rheostat report`: a recorded run as one page, or as a picture."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rheostat.cli.shared_options import JournalFile
from rheostat.web.report import write_report


def report_journal(
    journal: JournalFile,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The page, .html, or its curves alone: .png, .svg or .pdf.", show_default=False
        ),
    ],
) -> None:
    """Write a recorded run as one self-contained page: summary, curves, decisions, configuration, versions."""
    write_report(journal, out)
    Console().print(f"report: {out}", highlight=False, markup=False, soft_wrap=True)
