"""Report: a recorded run as one page to send to a colleague: summary, picture, decisions, configuration, versions."""

import math
import platform
from collections import Counter
from collections.abc import Iterator
from html import escape
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path

import msgspec

from rheostat.decision import Effect
from rheostat.describe import executors
from rheostat.duration import human
from rheostat.errors import ConfigError, JournalError
from rheostat.explain.moment import clock_text, since_start
from rheostat.journal import Journal
from rheostat.loop.turn import Ruling
from rheostat.web.decision_view import DecisionView, decision_views
from rheostat.web.report_picture import PICTURES, draw_report
from rheostat.web.run_view import GoalSpan, RunView, run_view

_MOST_DECISIONS = 20_000
_PACKAGES = ("rheostat", "pyspark", "numpy", "msgspec")
_RULINGS = {Ruling.ACCEPTED: "carried out", Ruling.REFUSED: "refused", Ruling.DRY_RUN: "dry run"}
_STYLE = """
:root { color-scheme: light dark; --ink: #171b1f; --muted: #5f6a73; --paper: #fbfbfa; --line: #e2e5e7;
  --missed: #c4320a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaed; --muted: #96a1aa; --paper: #0e1114; --line: #272d33;
  --missed: #ff7043; } figure { background: #fbfbfa; } }
body { font: 15px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; color: var(--ink);
  background: var(--paper); max-width: 1060px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 22px; margin: 0; } h2 { font-size: 15px; color: var(--muted); margin: 2.4rem 0 0.6rem; }
p { margin: 0.2rem 0; } .note { color: var(--muted); } figure { margin: 0; } figure svg { width: 100%; height: auto; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 1rem; margin: 1.6rem 0; }
dl { margin: 0; } dt { color: var(--muted); font-size: 13px; } dd { margin: 0; font-size: 26px; font-weight: 550; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.9rem 0.3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 500; } td:first-child { white-space: nowrap; }
tr.refused { color: var(--muted); }
.missed { color: var(--missed); }
"""


def check_report(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is read."""
    if path.suffix.lower() not in (".html", *PICTURES):
        raise ConfigError(f"report {str(path)!r} must end in .html, or for its picture in {', '.join(PICTURES)}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"report {str(path)!r} cannot be written: give a file in an existing folder")


def write_report(journal: Path | str, path: Path) -> None:
    """Write the report on `journal` to `path`: a page, or by its ending the picture alone."""
    check_report(path)
    with Journal(journal, read_only=True) as opened:
        run = run_view(opened)
        if run is None or not run.totals.turns:
            raise JournalError(f"journal {journal} is empty: no turn was recorded")
        points = opened.points(-math.inf, math.inf, 1_200)
        decisions = decision_views(opened.newest_decisions(_MOST_DECISIONS))
    done = [each for each in decisions if each.ruling is Ruling.ACCEPTED]
    if path.suffix.lower() != ".html":
        draw_report(run, points, done, path)
        return
    picture = StringIO()
    draw_report(run, points, done, picture)
    drawn = picture.getvalue()
    page = _page(run, drawn[drawn.index("<svg") :], decisions)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"report {str(path)!r} cannot be written: {error.strerror}") from None


def _page(run: RunView, picture: str, decisions: list[DecisionView]) -> str:
    name = escape(run.topology)
    head = f'<meta charset="utf-8"><title>{name} – Rheostat</title><style>{_STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join([
        *_summary(run, decisions), f"<figure>{picture}</figure>", *_decisions(run, decisions), *_configuration(run),
    ])  # fmt: skip
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head><body>\n{body}\n</body></html>\n'


def _summary(run: RunView, decisions: list[DecisionView]) -> Iterator[str]:
    totals, goal = run.totals, run.goals[-1]
    first_s, last_s = totals.first_s or 0.0, totals.last_s or 0.0
    yield f"<h1>{escape(run.topology)}</h1>"
    slas = " and ".join(f"SLA {sla}" for sla in goal.slas) or "no SLA"
    lasted = f"{since_start(last_s - first_s)}{clock_text(first_s)}"
    yield f'<p class="note">{escape(f"policy {goal.policy}, {slas}, {lasted}")}</p>'
    counts = Counter(each.ruling for each in decisions)
    kept = "–" if not totals.judged else f"{1 - totals.missed / totals.judged:.1%}"
    lost = ' class="missed"' if totals.missed else ""
    figures = [
        ("SLA kept", kept, lost),
        ("windows missed", f"{totals.missed:,} of {totals.judged:,}", lost),
        ("executor-hours", f"{totals.executor_s / 3600:,.3g}", ""),
        ("changes", f"{counts[Ruling.ACCEPTED]:,}", ""),
        ("refused", f"{counts[Ruling.REFUSED]:,}", ""),
    ]
    cells = [f"<dl><dt>{title}</dt><dd{style}>{value}</dd></dl>" for title, value, style in figures]
    yield f'<div class="figures">{"".join(cells)}</div>'


def _decisions(run: RunView, decisions: list[DecisionView]) -> Iterator[str]:
    start_s = run.totals.first_s or 0.0
    yield "<h2>Decisions</h2>"
    rows = [_decision(each, start_s) for each in reversed(decisions)]
    titles = "".join(f"<th>{title}</th>" for title in ("at", "what", "why", "predicted", "came"))
    yield f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    if not rows:
        yield '<p class="note">None.</p>'


def _decision(each: DecisionView, start_s: float) -> str:
    done = each.ruling is Ruling.ACCEPTED
    ruling = "" if done else f" ({_RULINGS[each.ruling]}{f', {each.turns} turns' if each.turns > 1 else ''})"
    asked = f" Asked for by {each.by}." if each.by else ""
    why = each.reason if done or not each.why else f"{each.reason} Not carried out: {each.why}."
    cells = [
        since_start(each.since_s - start_s), f"{each.subject}: {each.what}{ruling}", f"{why}{asked}",
        _effect(each.predicted), "; ".join(filter(None, (_effect(each.observed), each.outcome))),
    ]  # fmt: skip
    return f'<tr class="{each.ruling}">{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return ""
    parts = [
        None if effect.latency_s is None else f"latency {human(effect.latency_s)}",
        None if effect.utilisation is None else f"utilisation {effect.utilisation:.0%}",
        None if effect.executors is None else executors(effect.executors),
    ]
    return ", ".join(part for part in parts if part is not None)


def _configuration(run: RunView) -> Iterator[str]:
    start_s = run.totals.first_s or 0.0
    yield "<h2>Configuration</h2>"
    rows = [(f"from {since_start(max(0.0, goal.from_s - start_s))} on", _goal(goal)) for goal in run.goals]
    rows += [
        (f"{since_start(max(0.0, each.time_s - start_s))}", f"{each.kind} {each.what} {each.by}")
        for each in run.commands
    ]
    rows.append(("operators", ", ".join(part.name for part in run.parts if not part.source)))
    yield _table(rows)
    yield "<h2>Versions</h2>"
    versions = [(name, found) for name in _PACKAGES if (found := _version(name))]
    yield _table([*versions, ("python", platform.python_version()), ("system", platform.platform())])


def _goal(goal: GoalSpan) -> str:
    bounds = {
        name: value for name, value in (("total", goal.total), ("least", goal.least), ("most", goal.most)) if value
    }
    options = msgspec.json.encode(goal.options).decode()
    slas = ", ".join(goal.slas) or "none"
    return f"policy {goal.policy} with {options}; SLAs: {slas}; budget: {msgspec.json.encode(bounds).decode()}"


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows)
    return f'<div class="wide"><table><tbody>{cells}</tbody></table></div>'


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
