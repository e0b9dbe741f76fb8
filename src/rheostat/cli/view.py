"""A live view of a run in the terminal: rates, queues, latency against the SLA, executors, decisions with reasons."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from rheostat.cli.history import History, Moment
from rheostat.describe import describe
from rheostat.duration import human
from rheostat.loop.turn import Ruling, Verdict
from rheostat.sla import SLA

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 40


class View:
    """Draws what a `History` has collected; rich calls it at its own pace."""

    def __init__(self, title: str, history: History, sla: SLA | None) -> None:
        self._title, self._history, self._sla = title, history, sla

    def __rich__(self) -> RenderableType:
        if not self._history.moments:
            return Panel("waiting for the first measurement ...", title=self._title)
        return Panel(
            Group(self._curves(), self._operators(self._history.moments[-1]), self._decisions()), title=self._title
        )

    def _curves(self) -> Table:
        moments = self._history.moments[-_WIDTH:]
        latency = [moment.latency_s for moment in moments]
        table = Table.grid(padding=(0, 2))
        for _ in range(3):
            table.add_column(no_wrap=True)
        table.add_row("input", sparkline([m.external_rate for m in moments]), _rate(moments[-1].external_rate))
        table.add_row("latency", self._coloured(latency), self._latency_words(latency[-1]))
        executors = [sum(moment.executors.values()) for moment in moments]
        table.add_row("executors", sparkline(executors), f"{executors[-1]} serving")
        return table

    def _coloured(self, latencies: Sequence[float | None]) -> Text:
        text = Text(sparkline(latencies))
        for position, latency_s in enumerate(latencies):
            if self._sla is not None and latency_s is not None:
                text.stylize("red" if latency_s > self._sla.latency_s else "green", position, position + 1)
        return text

    def _latency_words(self, latency_s: float | None) -> str:
        now = "not measured" if latency_s is None else human(latency_s)
        return f"{now} (SLA {self._sla})" if self._sla else now

    def _operators(self, moment: Moment) -> Table:
        table = Table("operator", "in/s", "queued", "busy", "executors", box=None, padding=(0, 2))
        for name, rate in moment.arrival_rate.items():
            busy = moment.utilisation[name]
            count = moment.executors[name]
            table.add_row(
                name,
                _rate(rate),
                "–" if moment.queued[name] is None else f"{moment.queued[name]:,.0f}",
                "–" if busy is None else f"{100 * busy:3.0f} %",
                f"{'■' * count} {count}",
            )
        return table

    def _decisions(self) -> Text:
        lines = [self._line(time_s, verdict) for time_s, verdict in self._history.decisions()[-6:]]
        return Text("\n").join(lines) if lines else Text("no decision yet", style="dim")

    def _line(self, time_s: float, verdict: Verdict) -> Text:
        refused = verdict.ruling is Ruling.REFUSED
        since_s = time_s - self._history.moments[0].time_s
        text = f"{human(since_s):>6}  {verdict.decision.subject}: {describe(verdict.decision)}"
        why = f"refused, {verdict.why}" if refused else verdict.decision.reason
        return Text(f"{text}: {why}", style="dim" if refused else "bold", overflow="ellipsis", no_wrap=True)


@contextmanager
def shown(view: View, console: Console) -> Iterator[None]:
    """Show `view` live in a terminal; in a file or a pipe it stands once, as it is at the end."""
    with Live(view, console=console, refresh_per_second=2):
        yield
    if not console.is_terminal:
        console.line()  # which rich leaves out there


def sparkline(values: Sequence[float | None]) -> str:
    """A row of bars from zero to the largest value; a gap where nothing is known."""
    top = max((value for value in values if value is not None), default=0.0)
    return "".join(
        " " if value is None or top <= 0 else _BARS[min(8, max(1, round(8 * value / top)))] for value in values
    )


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:,.0f}/s"
