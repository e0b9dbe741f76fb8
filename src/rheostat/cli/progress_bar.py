"""Progress bar: how far a long command is. It is shown only on a terminal; a log gets no blank lines from it."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


def progress_bar() -> Progress:
    """A bar without tasks; the caller adds them. It goes to the error output and disappears when it is done."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
