import io

from rich.console import Console

from rheostat.cli.history import History
from rheostat.cli.view import View, shown, sparkline


def test_in_a_pipe_the_view_ends_its_last_line():
    console = Console(file=io.StringIO(), width=80)
    with shown(View("words", History(), None), console):
        pass
    console.print("stopped")
    lines = console.file.getvalue().splitlines()
    assert "waiting for the first measurement" in lines[1]
    assert lines[-1] == "stopped"


def test_a_sparkline_leaves_a_gap_where_nothing_is_known():
    assert sparkline([0.0, None, 4.0, 8.0]) == "▁ ▄█"
