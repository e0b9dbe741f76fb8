"""Page: the whole report, with its style. It loads nothing from anywhere."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from rheostat.duration import human
from rheostat.experiments.comparison.comparison import ComparedScenario, Comparison
from rheostat.experiments.comparison.figures import COST_RATIO, Entry
from rheostat.experiments.comparison.references import BEST_SCHEDULE
from rheostat.experiments.comparison.report.cost_chart import cost_chart
from rheostat.experiments.comparison.report.run_chart import ChartRow, run_chart
from rheostat.experiments.comparison.report.tables import figures_table, ranking_table

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --muted: #57606a; --paper: #ffffff; --line: #d8dee4;
  --load: #c9d7e8; --executors: #0b5394; --latency: #9a4d00; --sla: #b3261e; --missed: #f6d9d6; --front: #00695c;
  --reference: #6a3d9a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --muted: #9aa6b2; --paper: #14181d; --line: #363d46;
  --load: #33475e; --executors: #7ab8ff; --latency: #ffb366; --sla: #ff7b72; --missed: #4a2524; --front: #4fd1bd;
  --reference: #c9a6f5; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1000px;
  margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; }
th, td { text-align: right; padding: 0.2rem 0.7rem; white-space: nowrap; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; } thead th { color: var(--muted); font-weight: 600; }
tbody th, thead th:first-child { text-align: left; } svg { width: 100%; height: auto; display: block; margin: 1rem 0; }
.note { color: var(--muted); } .warning { border-left: 4px solid var(--sla); padding-left: 0.8rem; }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink); } svg .tick { fill: var(--muted); font-size: 10px; }
svg .executors-tick { fill: var(--executors); } svg .name { font-weight: 700; } svg .label { fill: var(--ink); }
svg .reference-label { fill: var(--reference); }
svg .label, svg .name, svg .reference-label { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
svg line, svg path { fill: none; }
svg .grid { stroke: var(--line); stroke-width: 0.6; } svg .axis { stroke: var(--muted); stroke-width: 1; }
svg .load { fill: var(--load); stroke: none; } svg .missed { fill: var(--missed); }
svg .executors { stroke: var(--executors); stroke-width: 1.8; } svg .latency { stroke: var(--latency);
  stroke-width: 1.5; } svg .sla { stroke: var(--sla); stroke-width: 1.2; stroke-dasharray: 5 3; }
svg .front { stroke: var(--front); stroke-width: 1.6; } svg .on-front { fill: var(--front); }
svg .behind { fill: var(--muted); } svg .reference { fill: var(--reference); }
svg .frontier { stroke: var(--reference); stroke-width: 1.2; stroke-dasharray: 2 3; }
svg .bound { stroke: var(--reference); stroke-width: 1.2; stroke-dasharray: 1 2; }
"""

_RANKING = """In each scenario, policies that reach the target are ranked by what they cost, the others behind them by
their success rate. The target is 99 % of the windows, or the highest success rate there if no policy reaches that.
The mean rank is over all scenarios; a policy without a result comes last. Cost is executor-seconds over those of the
best schedule that knows the future, or of the cheapest other reference where no schedule meets the SLA."""

_CHARTS = """Points above and to the left are better. The line joins the policies on the Pareto front: no other one is
both cheaper and more successful. The dashed line is at 99 %. Triangles are tuned settings."""


def write_report(comparison: Comparison, path: Path) -> None:
    """Write the report to the file at `path`."""
    path.write_text(report(comparison), encoding="utf-8")


def report(comparison: Comparison) -> str:
    """The page as text."""
    parts = [*_summary(comparison), *(part for each in comparison.scenarios for part in _scenario(each))]
    head = f'<meta charset="utf-8"><title>Comparison of policies</title><style>{_STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head><body>\n{chr(10).join(parts)}\n</body></html>\n'


def _summary(comparison: Comparison) -> Iterator[str]:
    plant = {"sim": "the simulator", "spark": "Spark"}.get(comparison.plant, comparison.plant)
    yield "<h1>Comparison of policies</h1>"
    counts = f"{len(comparison.scenarios)} scenarios on {plant}, {len(comparison.seeds)} seeds"
    yield f'<p class="note">{escape(counts)}; ± is a 95 % confidence interval.</p>'
    for setting, ranking in comparison.ranking.items():
        yield f"<h3>Ranking, {escape(setting)} settings</h3>{ranking_table(ranking)}"
    yield f'<p class="note">{_RANKING}</p>'
    for path, why in comparison.left_out.items():
        yield f'<p class="warning">Left out: {escape(path)}: {escape(why)}</p>'
    for job in comparison.failed:
        yield f'<p class="warning">Failed: {escape(job.name)}: {escape(job.why)}</p>'
    links = "".join(
        f'<li><a href="#{_anchor(each.name)}">{escape(each.name)}</a></li>' for each in comparison.scenarios
    )
    yield f"<h3>Scenarios</h3><ul>{links}</ul>"


def _scenario(scenario: ComparedScenario) -> Iterator[str]:
    yield f'<h2 id="{_anchor(scenario.name)}">{escape(scenario.name)}</h2>'
    whose = f" Cost is over that of {scenario.cost_reference}." if scenario.cost_reference else ""
    yield f'<p class="note">{escape(f"SLA {scenario.sla}, {human(scenario.duration_s)}.{whose}")}</p>'
    for why in scenario.cannot_be_met:
        yield f'<p class="warning">Cannot be met: {escape(why)}</p>'
    for policy, why in scenario.not_run.items():
        yield f'<p class="warning">Not run: {escape(policy)}: {escape(why)}</p>'
    yield "<h3>Success against cost</h3>"
    yield cost_chart(
        scenario.name,
        scenario.entries,
        scenario.references,
        scenario.cost_reference,
        scenario.cost_of_reference,
    )
    yield f'<p class="note">{_CHARTS}</p>{figures_table(scenario)}<h3>Over time</h3>'
    yield run_chart(scenario.name, list(_rows(scenario)), scenario.duration_s, scenario.latency_limit_s)


def _rows(scenario: ComparedScenario) -> Iterator[ChartRow]:
    """The first run of each entry, and the best schedule."""
    several = len({entry.setting for entry in scenario.entries}) > 1
    for entry in scenario.entries:
        if entry.runs[0].series:
            name = f"{entry.policy} ({entry.setting})" if several else entry.policy
            yield ChartRow(name, _figures(entry), entry.runs[0].series)
    best = scenario.references.get(BEST_SCHEDULE)
    if best is not None and best.run is not None:
        met = 100 * (best.run.success_rate or 0.0)
        yield ChartRow("best schedule (knows the future)", f"{met:.1f} % met", best.run.series)


def _figures(entry: Entry) -> str:
    texts = [f"{100 * entry.success:.1f} % met"]
    if COST_RATIO in entry.figures:
        texts.append(f"cost {entry.figures[COST_RATIO].mean:.2f}")
    if "p99_latency_s" in entry.figures:
        texts.append(f"p99 {human(entry.figures['p99_latency_s'].mean)}")
    return ", ".join(texts)


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")
