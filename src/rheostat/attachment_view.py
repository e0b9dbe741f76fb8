"""Attachment view: what an attachment shows of itself, as text and, in a notebook, as HTML.

Load, latency against the SLA, executors, the last decision with its reason, and what is wrong.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from rheostat.decision import Hold, Scale
from rheostat.describe import describe
from rheostat.duration import human
from rheostat.loop.turn import Ruling, Turn, Verdict
from rheostat.names import OperatorName
from rheostat.sla import SLA

_KEPT_TURNS = 120
_WIDTH, _HEIGHT = 240, 36
_LATENCY, _EXECUTORS, _LIMIT = "#7b3fa0", "#1f6fb2", "#c0392b"
_ADVICE = {Ruling.ACCEPTED: "", Ruling.DRY_RUN: "would ", Ruling.REFUSED: "refused: "}


class TurnPoint(NamedTuple):
    """One turn: latency in seconds, and how many executors serve."""

    latency_s: float | None
    executors: int


class ViewRow(NamedTuple):
    """One line of the view; `is_bad` where the SLA is missed or something is wrong."""

    label: str
    value: str
    is_bad: bool = False


@dataclass
class AttachmentView:
    """Listens to the turns of a loop with one `operator`, and renders the last ones.

    `standing` are problems of every snapshot: they are shown as notes.
    """

    application: str
    policy: str
    sla: SLA
    operator: OperatorName
    dry_run: bool = False
    standing: Collection[str] = ()
    recommended: int | None = None
    _points: deque[TurnPoint] = field(default_factory=lambda: deque(maxlen=_KEPT_TURNS))
    _turn: Turn | None = None
    _decided: tuple[float, Verdict] | None = None

    def __call__(self, turn: Turn) -> None:
        """One more turn."""
        self._turn = turn
        for verdict in turn.verdicts:
            if not isinstance(verdict.decision, Hold) and _is_new(verdict, self._decided):
                self._decided = turn.time_s, verdict
        if turn.snapshot is not None:
            latency = turn.snapshot.latency
            self._points.append(TurnPoint(None if latency is None else latency.mean_s, self._serving(turn)))
        self.recommended = self._recommendation(turn)

    def text(self, now_s: float, *, attached: bool = True) -> str:
        rows = self._rows(now_s)
        width = max((len(row.label) for row in rows), default=0)
        return "\n".join([self._title(attached), *(f"  {row.label:<{width}}  {row.value}" for row in rows)])

    def html(self, now_s: float, *, attached: bool = True) -> str:
        cells = "".join(map(_html_row, self._rows(now_s)))
        return (
            '<div style="font-family:sans-serif;font-size:13px;border:1px solid #ccc;border-radius:4px;'
            'padding:8px 12px;display:inline-block;max-width:60em">'
            f'<div style="font-weight:bold;margin-bottom:4px">{escape(self._title(attached))}</div>'
            f'<table style="border-collapse:collapse">{cells}</table>{self._curves()}</div>'
        )

    def _title(self, attached: bool) -> str:
        how = "attached" if attached else "detached"
        dry = ", dry run: nothing is changed" if self.dry_run else ""
        return f"{self.application!r} {how}: policy {self.policy!r}, SLA {self.sla}{dry}"

    def _rows(self, now_s: float) -> list[ViewRow]:
        if self._turn is None:
            return [ViewRow("state", "no turn of the loop yet")]
        return [
            self._load(self._turn), self._latency(), self._executors(self._turn), self._decision(now_s),
            *self._problems(self._turn),
        ]  # fmt: skip

    def _load(self, turn: Turn) -> ViewRow:
        rate = None if turn.measures is None else turn.measures.external_rate
        measured = None if turn.measures is None else turn.measures.operators.get(self.operator)
        queued = None if measured is None else measured.queued
        behind = f", backlog {queued:,.0f} rows" if queued else ""
        return ViewRow("load", "not measured" if rate is None else f"{rate:,.0f} rows/s{behind}")

    def _latency(self) -> ViewRow:
        """The last one that was measured: not every turn sees a batch end."""
        latency_s = next((p.latency_s for p in reversed(self._points) if p.latency_s is not None), None)
        if latency_s is None:
            return ViewRow("latency", "not measured")
        is_missed = latency_s > self.sla.latency_s
        judged = "above" if is_missed else "within"
        return ViewRow("latency", f"{human(latency_s)}, {judged} the {human(self.sla.latency_s)} of the SLA", is_missed)

    def _executors(self, turn: Turn) -> ViewRow:
        serving, wanted = self._serving(turn), turn.plan.size(self.operator)
        if not self.dry_run:
            return ViewRow("executors", f"{serving} of {wanted} wanted")
        advice = "no recommendation yet" if self.recommended is None else f"{self.recommended} recommended"
        return ViewRow("executors", f"{serving}, {advice}")

    def _decision(self, now_s: float) -> ViewRow:
        if self._decided is None:
            return ViewRow("decision", "none yet")
        time_s, verdict = self._decided
        return ViewRow("decision", f"{human(max(0.0, now_s - time_s))} ago: {describe_verdict(verdict)}")

    def _problems(self, turn: Turn) -> Iterable[ViewRow]:
        seen = () if turn.snapshot is None else turn.snapshot.problems
        problems = [*(f"{each.place}: {each.what}" for each in turn.problems), *seen]
        yield from (ViewRow("problem", each, is_bad=True) for each in problems if each not in self.standing)
        yield from (ViewRow("note", each) for each in problems if each in self.standing)

    def _serving(self, turn: Turn) -> int:
        pool = turn.plan.pool_of[self.operator]
        return 0 if turn.snapshot is None else sum(1 for _ in turn.snapshot.active(pool))

    def _recommendation(self, turn: Turn) -> int | None:
        """What the policy wants: in a dry run the last number that it decided on, otherwise the plan's."""
        wanted = turn.plan.size(self.operator)
        if not self.dry_run:
            return wanted
        measured = None if turn.measures is None else turn.measures.operators.get(self.operator)
        if measured is None or measured.arrival_rate is None:
            return self.recommended
        scales = [v.decision.executors for v in turn.ruled(Ruling.DRY_RUN) if isinstance(v.decision, Scale)]
        if scales:
            return scales[-1]
        return self.recommended if turn.ruled(Ruling.REFUSED) else wanted

    def _curves(self) -> str:
        if len(self._points) < 2:
            return ""
        latencies = [point.latency_s for point in self._points]
        sizes: list[float | None] = [float(point.executors) for point in self._points]
        return _sparkline("latency", latencies, _LATENCY, self.sla.latency_s) + _sparkline(
            "executors", sizes, _EXECUTORS
        )


def describe_verdict(verdict: Verdict) -> str:
    """A decision, what became of it, and its reason."""
    decision = verdict.decision
    why = f" ({verdict.why})" if verdict.ruling is Ruling.REFUSED else ""
    return f"{_ADVICE.get(verdict.ruling, '')}{describe(decision)}{why}: {decision.reason}"


def _is_new(verdict: Verdict, last: tuple[float, Verdict] | None) -> bool:
    """In a dry run the same decision comes with every turn: the first one is shown. A refusal hides no decision."""
    if last is None:
        return True
    before = last[1]
    if verdict.ruling is Ruling.REFUSED and before.ruling is not Ruling.REFUSED:
        return False
    return (describe(verdict.decision), verdict.ruling) != (describe(before.decision), before.ruling)


def _html_row(row: ViewRow) -> str:
    colour = f";color:{_LIMIT}" if row.is_bad else ""
    label = f'<td style="text-align:left;color:#666;padding:1px 12px 1px 0">{escape(row.label)}</td>'
    return f'<tr>{label}<td style="text-align:left;padding:1px 0{colour}">{escape(row.value)}</td></tr>'


def _sparkline(label: str, values: Sequence[float | None], colour: str, limit: float | None = None) -> str:
    """A curve from zero to the largest value, without what is unknown, and with `limit` as a dashed line."""
    top = max([*(value for value in values if value is not None), limit or 0.0]) or 1.0
    step = _WIDTH / max(1, len(values) - 1)

    def height(value: float) -> str:
        return f"{_HEIGHT - 1 - (_HEIGHT - 2) * value / top:.1f}"

    points = " ".join(f"{at * step:.1f},{height(value)}" for at, value in enumerate(values) if value is not None)
    lines = [f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>']
    if limit is not None:
        lines.append(
            f'<line x1="0" x2="{_WIDTH}" y1="{height(limit)}" y2="{height(limit)}" stroke="{_LIMIT}" '
            'stroke-dasharray="4 3"/>'
        )
    shown = f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(lines)}</svg>'
    return f'<div style="color:#666;margin-top:4px">{escape(label)}<br/>{shown}</div>'
