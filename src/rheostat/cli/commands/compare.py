"""`rheostat compare`: policies side by side on the same loads, seeds and limits."""

import os
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from rheostat.cli.comparison_tables import notes, ranking_table, scenario_table
from rheostat.cli.progress_bar import progress_bar
from rheostat.cli.shared_options import Json, Traces
from rheostat.experiments.comparison.comparison import Comparison, ComparisonRequest, compare
from rheostat.experiments.comparison.plants import plant_called
from rheostat.experiments.comparison.policy_choice import ALL, choose_policies
from rheostat.experiments.comparison.references import REFERENCE_RUNS
from rheostat.experiments.comparison.report.page import write_report
from rheostat.experiments.comparison.scenario_choice import choose_scenarios
from rheostat.sim.engine.jit import COMPILED

_SEEDS = 3


def compare_policies(
    scenarios: Annotated[
        list[Path],
        typer.Argument(metavar="SCENARIO…", help="Scenario files, and folders of them.", show_default=False),
    ],
    policies: Annotated[
        str, typer.Option(metavar="NAME,…", help=f"The policies; `{ALL}`: all that `rheostat policies` lists.")
    ] = ALL,
    on: Annotated[str, typer.Option(metavar="sim|spark", help="Where the policies run.")] = "sim",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each policy in each scenario.")] = _SEEDS,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Also with the best setting of each policy's grid, found on other seeds.")
    ] = False,
    reference_runs: Annotated[
        int,
        typer.Option(min=0, help="Runs to find the best schedule of a scenario; 0: no references."),
    ] = REFERENCE_RUNS,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes at a time. Default: the number of cores.", show_default=False)
    ] = None,
    traces: Traces = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results. A comparison resumes where it was interrupted.")
    ] = Path("comparison"),
    json: Json = False,
) -> None:
    """Compare policies by SLA success rate and cost, with each other and with what is possible."""
    plant_called(on)
    request = ComparisonRequest(
        choice=choose_scenarios(scenarios, traces),
        policies=choose_policies(policies),
        plant=on,
        seeds=tuple(range(seeds)),
        tuned=tuned,
        reference_runs=reference_runs,
        processes=processes or os.cpu_count() or 1,
        out=out,
    )
    if not COMPILED:
        print("simulating without numba is very slow: pip install 'rheostat[sim]'", file=sys.stderr)
    comparison = _compare(request)
    (out / "comparison.json").write_bytes(msgspec.json.encode(comparison))
    write_report(comparison, out / "report.html")
    if json:
        print(msgspec.json.encode(comparison).decode())
    else:
        _show(comparison)
    for note in notes(comparison):
        print(note, file=sys.stderr)
    print(f"{_counted(comparison)}; report: {out / 'report.html'}", file=sys.stderr)
    if comparison.failed:
        raise typer.Exit(1)


def _compare(request: ComparisonRequest) -> Comparison:
    try:
        with progress_bar() as bar:
            task = bar.add_task(f"comparing {len(request.policies)} policies", total=None)
            return compare(request, lambda done, known: bar.update(task, completed=done, total=known))
    except KeyboardInterrupt:
        print(f"interrupted: the same command resumes from {request.out / 'runs.jsonl'}", file=sys.stderr)
        raise


def _show(comparison: Comparison) -> None:
    console = Console()
    for scenario in comparison.scenarios:
        console.print(scenario_table(scenario, console.width))
    for ranking in comparison.ranking.values():
        if ranking:
            console.print(ranking_table(ranking, len(comparison.scenarios)))


def _counted(comparison: Comparison) -> str:
    return f"{comparison.jobs} jobs, {comparison.reused} of them reused from an earlier comparison"
