import io

from rich.console import Console

from rheostat.cli.live_view import LiveView, show_live, sparkline
from rheostat.cli.run_history import RunHistory


def test_in_a_pipe_the_view_ends_its_last_line():
    console = Console(file=io.StringIO(), width=80)
    with show_live(LiveView("words", RunHistory(), None), console):
        pass
    console.print("stopped")
    lines = console.file.getvalue().splitlines()
    assert "waiting for the first measurement" in lines[1]
    assert lines[-1] == "stopped"


def test_a_sparkline_leaves_a_gap_where_nothing_is_known():
    assert sparkline([0.0, None, 4.0, 8.0]) == "▁ ▄█"
