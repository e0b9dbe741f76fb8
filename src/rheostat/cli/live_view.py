"""Live view: a run in the terminal, with rates, backlog, latency against the SLA, executors, decisions and reasons."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from rheostat.cli.load_shares import load_shares
from rheostat.cli.plain_lines import PlainLines, executors_text, rate_text
from rheostat.cli.run_history import RunHistory, TurnSummary
from rheostat.describe import describe
from rheostat.duration import human
from rheostat.loop.controller import Listener
from rheostat.loop.turn import Ruling, Verdict
from rheostat.sla import SLA

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 40
_SHOWN_DECISIONS = 6


class LiveView:
    """Renders a `RunHistory`; rich asks for it at its own refresh rate. `page` is the address of its dashboard."""

    def __init__(self, title: str, history: RunHistory, sla: SLA | None, page: str | None = None) -> None:
        self._title, self._history, self._sla, self._page = title, history, sla, page

    def __rich__(self) -> RenderableType:
        if not self._history.turns:
            return Panel("waiting for the first measurement ...", title=self._title, subtitle=self._page)
        return Panel(
            Group(self._curves(), self._operators(self._history.turns[-1]), self._shares(), self._decisions()),
            title=self._title,
            subtitle=self._page,
        )

    def _curves(self) -> Table:
        turns = self._history.turns[-_WIDTH:]
        latency = [turn.latency_s for turn in turns]
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column()  # the only one that gets narrower in a narrow terminal
        table.add_column(no_wrap=True)
        rates, serving = [turn.external_rate for turn in turns], [turn.serving for turn in turns]
        table.add_row("input", CurveCell(Text(sparkline(rates))), rate_text(rates[-1]))
        table.add_row("latency", CurveCell(self._coloured(latency)), self._latency_text(latency[-1]))
        table.add_row("executors", CurveCell(Text(sparkline(serving))), executors_text(turns[-1]))
        return table

    def _coloured(self, latencies: Sequence[float | None]) -> Text:
        text = Text(sparkline(latencies))
        for position, latency_s in enumerate(latencies):
            if self._sla is not None and latency_s is not None:
                text.stylize("red" if latency_s > self._sla.latency_s else "green", position, position + 1)
        return text

    def _latency_text(self, latency_s: float | None) -> str:
        now = "not measured" if latency_s is None else human(latency_s)
        return f"{now} (SLA {self._sla})" if self._sla else now

    def _operators(self, turn: TurnSummary) -> Table:
        table = Table("operator", "in/s", "backlog", "busy", "executors", box=None, padding=(0, 2))
        for name, rate in turn.arrival_rate.items():
            busy, queued, count = turn.utilisation[name], turn.queued[name], turn.executors[name]
            table.add_row(
                name,
                rate_text(rate),
                "–" if queued is None else f"{queued:,.0f}",
                "–" if busy is None else f"{100 * busy:3.0f} %",
                Text(f"{count} {'■' * count}", overflow="ellipsis", no_wrap=True),
            )
        return table

    def _shares(self) -> Table:
        """What waits in each partition and in each substream, as bars and in numbers."""
        table = Table.grid(padding=(0, 2))
        for _ in range(2):
            table.add_column(no_wrap=True)
        table.add_column()
        table.add_column(no_wrap=True)
        for each in () if self._history.snapshot is None else load_shares(self._history.snapshot):
            bars = CurveCell(Text(sparkline(most_in_groups(each.queued, _WIDTH // 2))))
            table.add_row(f"  {each.operator}", each.count, bars, each.waiting)
        return table

    def _decisions(self) -> Text:
        lines = [self._line(time_s, verdict) for time_s, verdict in self._history.decisions()[-_SHOWN_DECISIONS:]]
        return Text("\n").join(lines) if lines else Text("no decisions yet", style="dim")

    def _line(self, time_s: float, verdict: Verdict) -> Text:
        refused = verdict.ruling is Ruling.REFUSED
        since_s = time_s - self._history.turns[0].time_s
        text = f"{human(since_s):>6}  {verdict.decision.subject}: {describe(verdict.decision)}"
        why = f"refused, {verdict.why}" if refused else verdict.decision.reason
        return Text(f"{text}: {why}", style="dim" if refused else "bold", overflow="ellipsis", no_wrap=True)


class CurveCell:
    """A sparkline that shows its newest values where there is no room for all of them."""

    def __init__(self, bars: Text) -> None:
        self._bars = bars

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._bars[-options.max_width :] if len(self._bars) > options.max_width else self._bars

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, len(self._bars)))


@contextmanager
def show_live(view: LiveView, console: Console) -> Iterator[None]:
    """Show `view` live in a terminal. A file or a pipe gets plain lines instead, see `watch`."""
    if not console.is_terminal:
        yield
        return
    with Live(view, console=console, refresh_per_second=2), _logs_above_the_view():
        yield


@contextmanager
def _logs_above_the_view() -> Iterator[None]:
    """What is logged meanwhile goes where rich has it printed above the view, and not into it."""
    handlers = [each for each in logging.getLogger().handlers if isinstance(each, logging.StreamHandler)]
    before = [(each, each.setStream(sys.stderr)) for each in handlers]
    try:
        yield
    finally:
        for handler, stream in before:
            if stream is not None:
                handler.setStream(stream)


def watch(history: RunHistory, sla: SLA | None, console: Console) -> list[Listener]:
    """What listens to a run: `history`, and without a terminal what prints plain lines."""
    return [history] if console.is_terminal else [history, PlainLines(sla, console)]


def most_in_groups(values: Sequence[int | None], groups: int) -> list[int | None]:
    """`values` in at most so many groups of neighbours: the largest of each, None where nothing is known.

    >>> most_in_groups([1, 5, None, 2, None], 3)
    [5, 2, None]
    """
    width = -(-len(values) // groups)
    parts = [values[at : at + width] for at in range(0, len(values), width)]
    return [max((value for value in part if value is not None), default=None) for part in parts]


def sparkline(values: Sequence[float | None]) -> str:
    """A row of bars from zero to the largest value, with gaps for unknown values."""
    top = max((value for value in values if value is not None), default=0.0)
    return "".join(
        " " if value is None or top <= 0 else _BARS[min(8, max(1, round(8 * value / top)))] for value in values
    )
