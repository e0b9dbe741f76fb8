"""`rheostat simulate`: runs a scenario under a policy on the simulated cluster."""

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.commands.dashboard import wait_for_interrupt
from rheostat.cli.dashboard_option import Address, print_address
from rheostat.cli.progress_bar import progress_bar
from rheostat.cli.shared_options import Json, PolicyName, PolicyOptionTexts, Traces, parse_policy_options
from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.experiments.feasibility import why_it_cannot_be_met
from rheostat.experiments.replicate import means, replicate
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario, read_scenario
from rheostat.experiments.simulate import simulate
from rheostat.journal import Journal
from rheostat.policies.registry import make_policy
from rheostat.sim.engine.jit import COMPILED
from rheostat.web.dashboard import Dashboard

Options = dict[str, Any] | None
_PACE = 30.0


def simulate_scenario(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    policy: PolicyName = None,
    option: PolicyOptionTexts = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Run with this many seeds, starting at --seed.")] = 1,
    processes: Annotated[int, typer.Option(min=1, help="Spread the runs over this many processes.")] = 1,
    journal: Annotated[
        Path | None, typer.Option(help="Write the journal of the run to this new file, for `rheostat replay`.")
    ] = None,
    dashboard: Address = None,
    pace: Annotated[
        float | None, typer.Option(min=0.01, help="With --dashboard: simulated seconds in a second (30).")
    ] = None,
    traces: Traces = None,
    json: Json = False,
    series: Annotated[
        bool, typer.Option("--series", help="With --json: load, latency, backlog and executors of every turn, too.")
    ] = False,
) -> None:
    """Run a scenario on the simulated cluster and report SLA success rate, latency and cost."""
    read = read_scenario(scenario, traces)
    options = parse_policy_options(option)
    _check(read, policy, options)
    if journal is not None:
        _check_journal(journal, runs)
    if series and not json:
        raise ConfigError("--series needs --json: it is too long for a table")
    if pace is not None and dashboard is None:
        raise ConfigError(f"--pace {pace:g} needs --dashboard: nobody watches otherwise")
    if dashboard is not None and runs > 1:
        raise ConfigError(f"--dashboard shows a single run, not --runs {runs}")
    if runs > 1:
        _report_many(_simulate_many(read, policy, options, range(seed, seed + runs), processes, series), json)
        return
    with ExitStack() as stack:
        written = _open_journal(stack, journal, dashboard)
        board = None
        if written is not None and dashboard is not None:
            board = stack.enter_context(Dashboard(written, dashboard))
            print_address(board, Console(stderr=True))
        result = _simulate_one(read, policy, options, seed, written, series, board, pace or _PACE)
        if json:
            print(msgspec.json.encode(result).decode())
        else:
            Console().print(*tables(result), sep="\n")
        if board is not None:
            board.finish()
            print("the page is still there; Ctrl-C ends it", file=sys.stderr)
            wait_for_interrupt()


def _check(scenario: Scenario, policy: str | None, options: Options) -> None:
    """Report errors, what no policy can achieve, and that the run will be slow, before the progress bar appears."""
    make_policy(scenario.policy if policy is None else policy, scenario.goal, options)
    for why in why_it_cannot_be_met(scenario):
        print(f"cannot be met, whatever the policy: {why}", file=sys.stderr)
    if not COMPILED:
        print("simulating without numba is very slow: pip install 'rheostat[sim]'", file=sys.stderr)


def _check_journal(journal: Path, runs: int) -> None:
    """A run that continues from a journal has other results than one that starts from scratch."""
    if runs > 1:
        raise ConfigError(f"--journal {journal} works with a single run, not with --runs {runs}")
    if journal.exists():
        raise ConfigError(f"--journal {journal} already exists: give a new file, a simulated run starts from scratch")


def _open_journal(stack: ExitStack, path: Path | None, dashboard: str | None) -> Journal | None:
    """The journal that was asked for, or one for the page alone."""
    if path is None and dashboard is not None:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rheostat-"))) / "journal.db"
    return None if path is None else stack.enter_context(Journal(path))


def _simulate_one(
    scenario: Scenario,
    policy: str | None,
    options: Options,
    seed: int,
    journal: Journal | None,
    series: bool,
    board: Dashboard | None,
    pace: float,
) -> Result:
    with progress_bar() as bar:
        task = bar.add_task(f"simulating {human(scenario.duration_s)}", total=scenario.duration_s)
        return simulate(
            scenario,
            policy,
            options,
            seed=seed,
            journal=journal,
            progress=lambda time_s: bar.update(task, completed=time_s),
            series=series,
            listeners=[] if board is None else [board],
            pace=None if board is None else pace,
            started=None if board is None else board.steer,
        )


def _simulate_many(
    scenario: Scenario, policy: str | None, options: Options, seeds: Sequence[int], processes: int, series: bool
) -> list[Result]:
    with progress_bar() as bar:
        task = bar.add_task(f"simulating {len(seeds)} runs of {human(scenario.duration_s)}", total=len(seeds))
        return replicate(
            scenario,
            policy,
            options,
            seeds=seeds,
            processes=processes,
            progress=lambda done: bar.update(task, completed=done),
            series=series,
        )


def _report_many(results: list[Result], json: bool) -> None:
    if json:
        print(msgspec.json.encode({"means": means(results), "runs": results}).decode())
        return
    first = results[0]
    table = Table("figure", "mean", "± (95 %)", title=f"{first.scenario}: {first.policy}, {len(results)} runs")
    for figure, mean in means(results).items():
        table.add_row(figure, f"{mean.mean:.4g}", "–" if mean.half_width is None else f"{mean.half_width:.2g}")
    Console().print(table)


def tables(result: Result) -> tuple[Table, Table]:
    """One table for the whole run, one for its operators."""
    whole = Table(title=f"{result.scenario}: {result.policy}, seed {result.seed}", show_header=False, min_width=60)
    for name, value in _rows(result):
        whole.add_row(name, value)
    parts = Table("operator", "success", "executors", "exec-s", "latency", "p99", "backlog", "lost")
    for name, part in result.operators.items():
        parts.add_row(
            name,
            percent(part.success_rate),
            f"{part.mean_executors:.2f}",
            f"{part.executor_seconds:,.0f}",
            latency(part.mean_latency_s),
            latency(part.p99_latency_s),
            f"{part.queued:,}",
            f"{part.lost:,}",
        )
    return whole, parts


def _rows(result: Result) -> list[tuple[str, str]]:
    decided = ", ".join(f"{count} {kind}" for kind, count in sorted(result.decisions.items())) or "none"
    return [
        ("simulated time", human(result.duration_s)),
        ("success rate", percent(result.success_rate)),
        ("executors, mean", f"{result.mean_executors:.2f}"),
        ("executor-seconds", f"{result.executor_seconds:,.0f}"),
        ("saved against peak size", f"{percent(result.saved_resources)} of active executors"),
        ("", f"{percent(result.saved_executor_seconds)} of paid executors"),
        ("latency, mean / p99", f"{latency(result.mean_latency_s)} / {latency(result.p99_latency_s)}"),
        ("arrived / completed", f"{result.arrived:,} / {result.completed:,}"),
        ("backlog / lost / late", f"{result.queued:,} / {result.lost:,} / {result.late:,}"),
        ("throughput degradation", percent(result.throughput_degradation)),
        ("processed", percent(result.processed_share)),
        ("error of predicted input", percent(result.prediction_errors.input_error)),
        ("error of planned executors", percent(result.prediction_errors.replica_error)),
        ("decisions", f"{decided}; {result.refused} refused"),
        ("switching", f"{result.switching_events} events, {human(result.switching_time_s)}"),
        ("switching share", percent(result.switching_share)),
    ]


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def latency(duration_s: float | None) -> str:
    return "–" if duration_s is None else human(duration_s)
