import io
import logging

import pytest
from rich.console import Console

from rheostat.cli.live_view import LiveView, show_live, sparkline, watch
from rheostat.cli.plain_lines import PlainLines
from rheostat.cli.run_history import RunHistory, TurnSummary
from rheostat.sla import SLA
from rheostat.snapshot import OperatorState, PartitionState, Snapshot, StreamState, SubstreamState


def summary(number: int) -> TurnSummary:
    return TurnSummary(
        time_s=float(number),
        completed=10,
        latency_s=1.234 + number / 100,
        oldest_s=0.0,
        external_rate=1_234_567.0,
        arrival_rate={"split": 12_345.0},
        queued={"split": 123_456.0},
        utilisation={"split": 0.5},
        executors={"split": 60},
        serving=60,
        reserved=1,
        paid=61,
    )


@pytest.mark.parametrize("turns", [1, 35, 100])
def test_no_label_is_cut_in_80_columns(turns: int) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    history = RunHistory([summary(number) for number in range(turns)])
    console.print(LiveView("words", history, SLA("12.5s", "30s")))
    text = console.file.getvalue()
    for whole in (
        "input ",
        "latency ",
        "executors ",
        "1,234,567/s",
        "(SLA 12.5s over 30s)",
        "60 executors and 1 for sources",
        "60 ■",
    ):
        assert whole in text
    rows = [line for line in text.splitlines() if "█" in line]
    assert len(rows) == 3
    assert max(map(len, text.splitlines())) <= 80


def test_partitions_and_substreams_have_rows_of_their_own() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    partitions = tuple(PartitionState("orders", number, 100, queued) for number, queued in enumerate((40, 0, 8000)))
    substreams = tuple(SubstreamState("split", index, queued=index) for index in range(128))
    streams = (StreamState("in", "split", partitions=partitions),)
    seen = Snapshot(1.0, (OperatorState("split"),), streams=streams, substreams=substreams)
    console.print(LiveView("words", RunHistory([summary(1)], seen), None))
    rows = [line.strip("│ ") for line in console.file.getvalue().splitlines() if "in each" in line]
    assert [" ".join(row.split()) for row in rows] == [
        "split 3 partitions ▁▁█ 0 to 8,000 wait in each",
        "split 128 substreams ▁▁▁▂▂▃▃▃▄▄▅▅▆▆▇▇▇██ 0 to 127 wait in each",
    ]


def test_in_a_pipe_there_is_no_panel_but_plain_lines() -> None:
    console = Console(file=io.StringIO(), width=80)
    history = RunHistory()
    assert [type(each) for each in watch(history, None, console)] == [RunHistory, PlainLines]
    with show_live(LiveView("words", history, None), console):
        pass
    assert console.file.getvalue() == ""


def test_what_is_logged_is_printed_above_the_view_and_not_into_it() -> None:
    shown, terminal = io.StringIO(), io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80)
    handler = logging.StreamHandler(terminal)
    logging.getLogger().addHandler(handler)
    try:
        with show_live(LiveView("words", RunHistory(), None), console):
            logging.getLogger("rheostat").warning("a node is slow")
        logging.getLogger("rheostat").warning("the end")
    finally:
        logging.getLogger().removeHandler(handler)
    assert "a node is slow\n" in shown.getvalue()
    assert terminal.getvalue() == "the end\n"


def test_a_terminal_gets_no_plain_lines() -> None:
    history = RunHistory()
    assert watch(history, None, Console(file=io.StringIO(), force_terminal=True)) == [history]


def test_a_sparkline_leaves_a_gap_where_nothing_is_known():
    assert sparkline([0.0, None, 4.0, 8.0]) == "▁ ▄█"
