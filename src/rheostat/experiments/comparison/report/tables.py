"""Tables: ranking and figures of a report as HTML."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from rheostat.duration import human
from rheostat.experiments.comparison.comparison import ComparedScenario
from rheostat.experiments.comparison.figure_texts import count, percent, ranking_cells
from rheostat.experiments.comparison.figures import COST_RATIO, Entry
from rheostat.experiments.comparison.ranking import RankedPolicy
from rheostat.experiments.comparison.references import LOWER_BOUND, Reference
from rheostat.experiments.replicate import Mean


class _Figure(NamedTuple):
    title: str
    name: str
    text: Callable[[float], str]


FIGURES = (
    _Figure("success rate", "success_rate", percent),
    _Figure("cost", COST_RATIO, "{:.2f}".format),
    _Figure("executor-seconds", "executor_seconds", count),
    _Figure("mean executors", "mean_executors", "{:.2f}".format),
    _Figure("mean latency", "mean_latency_s", human),
    _Figure("p99 latency", "p99_latency_s", human),
    _Figure("out of the SLA for", "out_of_sla_s", human),
    _Figure("late", "late", count),
    _Figure("lost", "lost", count),
    _Figure("scalings", "scalings", count),
    _Figure("moves", "moves", count),
    _Figure("reversals", "reversals", count),
    _Figure("scale-ins while missed", "scale_ins_late", count),
    _Figure("saved resources", "saved_resources", percent),
    _Figure("throughput degradation", "throughput_degradation", percent),
)


def ranking_table(ranking: Sequence[RankedPolicy]) -> str:
    """The policies over all scenarios, the best first."""
    header = ("policy", "mean rank", "median success", "worst success", "median cost", "met in", "on the front in")
    return _table(header, [ranking_cells(each) for each in ranking])


def figures_table(scenario: ComparedScenario) -> str:
    """All figures of one scenario, and below them the references."""
    entries = [(_name(entry), *(_cell(entry.figures.get(f.name), f) for f in FIGURES)) for entry in scenario.entries]
    references = [
        (kind.replace("_", " "), *_reference_cells(reference, scenario.cost_of_reference))
        for kind, reference in scenario.references.items()
    ]
    return _table(("policy", *(figure.title for figure in FIGURES)), [*entries, *references])


def _name(entry: Entry) -> str:
    options = ", ".join(f"{name} {value}" for name, value in entry.options.items())
    setting = f" ({entry.setting}{': ' if options else ''}{options})" if entry.setting != "default" else ""
    return f"{entry.policy}{setting}{' *' if entry.on_front else ''}"


def _cell(value: Mean | None, figure: _Figure) -> str:
    if value is None:
        return "–"
    interval = "" if value.half_width is None else f" ± {figure.text(value.half_width)}"
    return f"{figure.text(value.mean)}{interval}"


def _reference_cells(reference: Reference, cost_of_reference: float | None) -> Iterator[str]:
    best = reference.best
    known: dict[str, float | None] = {}
    if best is not None:
        known = {figure.name: getattr(reference.run, figure.name, None) for figure in FIGURES}
        known["success_rate"], known["executor_seconds"] = best.success_rate, best.executor_seconds
        known[COST_RATIO] = best.executor_seconds / cost_of_reference if cost_of_reference else None
    for figure in FIGURES:
        value = known.get(figure.name)
        sign = "≥ " if reference.kind == LOWER_BOUND else ""
        yield "" if value is None else f"{sign}{figure.text(value)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in header)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
