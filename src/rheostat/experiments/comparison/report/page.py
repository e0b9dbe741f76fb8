"""Page: the whole report."""

from pathlib import Path

from rheostat.experiments.comparison.comparison import Comparison


def write_report(comparison: Comparison, path: Path) -> None:
    """Write the report to the file at `path`."""
    path.write_text("<!doctype html>")
