"""Plain lines: a run in a log, with a line for each decision carried out, for each problem, and for every minute."""

from collections.abc import Iterator
from datetime import datetime

from rich.console import Console

from rheostat.cli.load_shares import load_shares
from rheostat.cli.run_history import RunHistory, TurnSummary
from rheostat.describe import describe, executors
from rheostat.duration import human
from rheostat.loop.turn import WORKS_AGAIN, Ruling, Turn
from rheostat.sla import SLA

_STATUS_EVERY_S = 60.0


class PlainLines:
    """Listens to a controller and prints a line for what happens, with the time of day."""

    def __init__(self, sla: SLA | None, console: Console) -> None:
        self._sla, self._console = sla, console
        self._recent = RunHistory()
        self._status_due_s = 0.0
        self._problems: dict[str, str] = {}

    def __call__(self, turn: Turn) -> None:
        self._recent(turn)
        for line in (*self._problem_lines(turn), *_decision_lines(turn), *self._status_lines(turn.time_s)):
            self._print(turn.time_s, line)

    def _problem_lines(self, turn: Turn) -> Iterator[str]:
        now = {problem.place: problem.what for problem in turn.problems}
        yield from (f"problem: {place}: {what}" for place, what in now.items() if self._problems.get(place) != what)
        yield from (f"{place}: {WORKS_AGAIN}" for place in self._problems if place not in now)
        self._problems = now

    def _status_lines(self, time_s: float) -> Iterator[str]:
        if self._recent.turns and time_s >= self._status_due_s:
            yield status_line(self._recent, self._sla)
            self._recent.turns.clear()
            self._status_due_s = time_s + _STATUS_EVERY_S

    def _print(self, time_s: float, line: str) -> None:
        clock = datetime.fromtimestamp(time_s).strftime("%H:%M:%S")
        self._console.print(f"{clock}  {line}", highlight=False, markup=False, soft_wrap=True)


def status_line(recent: RunHistory, sla: SLA | None) -> str:
    """Input rate, mean latency since the line before against the SLA, executors and backlog, and how it is spread."""
    turns, last = recent.turns, recent.turns[-1]
    done = sum(turn.completed for turn in turns if turn.latency_s is not None)
    waited_s = sum(turn.completed * turn.latency_s for turn in turns if turn.latency_s is not None)
    latency = f"latency {human(waited_s / done)}" if done else "latency not measured"
    promise = f" (SLA {sla})" if sla else ""
    queued = [count for count in last.queued.values() if count is not None]
    backlog = f"{sum(queued):,.0f}" if queued else "not measured"
    shares = [] if recent.snapshot is None else load_shares(recent.snapshot)
    told = "; ".join(f"{each.operator}: {each.waiting} of {each.count}" for each in shares)
    spread = f" ({told})" if told else ""
    return (
        f"input {rate_text(last.external_rate)}, {latency}{promise}, {executors_text(last)}, backlog {backlog}{spread}"
    )


def executors_text(turn: TurnSummary) -> str:
    """ "3 executors and 1 for sources"."""
    return executors(turn.serving) + (f" and {turn.reserved} for sources" if turn.reserved else "")


def rate_text(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:,.0f}/s"


def _decision_lines(turn: Turn) -> Iterator[str]:
    for verdict in turn.verdicts:
        decision = verdict.decision
        if verdict.ruling is Ruling.ACCEPTED:
            yield f"{decision.subject}: {describe(decision)}: {decision.reason}"
        if verdict.ruling is Ruling.DRY_RUN:
            yield f"{decision.subject}: would {describe(decision)}: {decision.reason}"
