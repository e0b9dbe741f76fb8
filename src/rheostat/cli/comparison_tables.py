"""Comparison tables: the result of `rheostat compare` on a terminal. Narrow ones show the most important figures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from rheostat.duration import human
from rheostat.experiments.comparison.comparison import ComparedScenario, Comparison
from rheostat.experiments.comparison.figure_texts import count, ranking_cells
from rheostat.experiments.comparison.figures import COST_RATIO, Entry
from rheostat.experiments.comparison.ranking import RankedPolicy
from rheostat.experiments.comparison.references import LOWER_BOUND, Reference
from rheostat.experiments.replicate import Mean

WIDE = 110
"""Columns of a terminal from which on all tables have more columns."""


@dataclass(frozen=True)
class Column:
    """A figure in a table; `interval` says whether its confidence interval is shown."""

    title: str
    figure: str
    text: Callable[[float], str]
    interval: bool = False
    wide: bool = False


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


COLUMNS = (
    Column("success %", "success_rate", _percent, interval=True),
    Column("cost", COST_RATIO, "{:.2f}".format, interval=True),
    Column("exec.", "mean_executors", "{:.1f}".format),
    Column("latency", "mean_latency_s", human),
    Column("p99", "p99_latency_s", human),
    Column("out for", "out_of_sla_s", human),
    Column("scaled", "scalings", count),
    Column("reversals", "reversals", count, wide=True),
    Column("late ins", "scale_ins_late", count, wide=True),
    Column("moves", "moves", count, wide=True),
    Column("lost", "lost", count, wide=True),
)


def ranking_table(ranking: Sequence[RankedPolicy], scenarios: int) -> Table:
    """The policies over all scenarios, the best first."""
    number = f"{scenarios} scenario{'s' if scenarios > 1 else ''}"
    table = _table(f"ranking over {number}, {ranking[0].setting} settings")
    for title in ("policy", "mean rank", "median", "worst", "median cost", "met in", "on front"):
        table.add_column(title, justify="left" if title == "policy" else "right", no_wrap=True)
    for each in ranking:
        table.add_row(*ranking_cells(each))
    return table


def scenario_table(scenario: ComparedScenario, width: int) -> Table:
    """The policies in one scenario, the best first, and below them the references."""
    columns = [column for column in COLUMNS if width >= WIDE or not column.wide]
    table = _table(f"{scenario.name}: SLA {scenario.sla}")
    table.caption = _caption(scenario)
    table.add_column("policy", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    several = len({entry.setting for entry in scenario.entries}) > 1
    for entry in scenario.entries:
        table.add_row(_name(entry, several), *(_cell(entry.figures.get(each.figure), each) for each in columns))
    table.add_row()
    for reference in scenario.references.values():
        cells = dict(_reference_cells(reference, scenario.cost_of_reference))
        name = reference.kind.replace("_", " ")
        table.add_row(name, *(cells.get(column.figure, "") for column in columns), style="dim")
    return table


def notes(comparison: Comparison) -> Iterator[str]:
    """What the tables do not show, a line each."""
    for path, why in comparison.left_out.items():
        yield f"left out: {path}: {why}"
    for scenario in comparison.scenarios:
        yield from (f"cannot be met: {scenario.name}: {why}" for why in scenario.cannot_be_met)
        yield from (f"not run: {scenario.name}: {policy}: {why}" for policy, why in scenario.not_run.items())
    yield from (f"failed: {each.name}: {each.why}" for each in comparison.failed)


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", caption_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0)
    )


def _caption(scenario: ComparedScenario) -> str:
    cost = f"cost: executor-seconds over those of {scenario.cost_reference}; " if scenario.cost_reference else ""
    return f"{cost}±: 95 %; out for: longest time out of the SLA; *: on the Pareto front\n"


def _name(entry: Entry, several: bool) -> str:
    mark = " *" if entry.on_front else ""
    return f"{entry.policy}{f' ({entry.setting})' if several else ''}{mark}"


def _cell(value: Mean | None, column: Column) -> str:
    if value is None:
        return "–"
    text = column.text(value.mean)
    return f"{text} ± {column.text(value.half_width)}" if column.interval and value.half_width is not None else text


def _reference_cells(reference: Reference, cost_of_reference: float | None) -> Iterator[tuple[str, str]]:
    if (best := reference.best) is None:
        yield "success_rate", "not possible"
        return
    if best.success_rate is not None:
        yield "success_rate", _percent(best.success_rate)
    if cost_of_reference:
        sign = "≥ " if reference.kind == LOWER_BOUND else ""
        yield COST_RATIO, f"{sign}{best.executor_seconds / cost_of_reference:.2f}"
    if reference.run is not None:
        for column in COLUMNS:
            value = getattr(reference.run, column.figure, None)
            if value is not None:
                yield column.figure, column.text(value)
