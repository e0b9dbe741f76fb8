"""`rheostat simulate`: a scenario under a policy on the simulated cluster."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.bar import progress_bar
from rheostat.cli.options import Json, PolicyName, PolicyOptionTexts, parsed
from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.experiments.replicate import means, replicate
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario, read_scenario
from rheostat.experiments.simulate import simulate
from rheostat.journal import Journal, NullJournal
from rheostat.policies.registry import make_policy
from rheostat.sim.engine.jit import COMPILED


def simulate_scenario(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    policy: PolicyName = None,
    option: PolicyOptionTexts = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Repeat with this many seeds, from --seed on.")] = 1,
    processes: Annotated[int, typer.Option(min=1, help="Share several runs between this many processes.")] = 1,
    journal: Annotated[
        Path | None, typer.Option(help="Write the journal of the run to this new file (for `rheostat replay`).")
    ] = None,
    json: Json = False,
) -> None:
    """Run a scenario on the simulated cluster and report SLA success, latency and cost."""
    told = read_scenario(scenario)
    _check(told, policy, option)
    if journal is not None:
        _check_journal(journal, runs)
    if runs > 1:
        _report_many(_many(told, policy, option, range(seed, seed + runs), processes), json)
        return
    result = _one(told, policy, option, seed, journal)
    if json:
        print(msgspec.json.encode(result).decode())
    else:
        Console().print(*tables(result), sep="\n")


def _check(scenario: Scenario, policy: str | None, option: list[str] | None) -> None:
    """What is wrong, and what will take long, is told before a progress bar begins."""
    make_policy(scenario.policy if policy is None else policy, scenario.goal, parsed(option))
    if not COMPILED:
        print("without numba this takes very long: pip install 'rheostat[sim]'", file=sys.stderr)


def _check_journal(journal: Path, runs: int) -> None:
    """A run goes on from what a journal knows, with other results than one from the beginning."""
    if runs > 1:
        raise ConfigError(f"--journal {journal} is for a single run, not for {runs}")
    if journal.exists():
        raise ConfigError(f"--journal {journal} exists already: name a new file, a simulated run begins with nothing")


def _one(scenario: Scenario, policy: str | None, option: list[str] | None, seed: int, journal: Path | None) -> Result:
    with ExitStack() as open_things:
        written = open_things.enter_context(Journal(journal)) if journal else NullJournal()
        bar = open_things.enter_context(progress_bar())
        task = bar.add_task(f"simulating {human(scenario.duration_s)}", total=scenario.duration_s)
        return simulate(
            scenario,
            policy,
            parsed(option),
            seed=seed,
            journal=written,
            progress=lambda time_s: bar.update(task, completed=time_s),
        )


def _many(
    scenario: Scenario, policy: str | None, option: list[str] | None, seeds: Sequence[int], processes: int
) -> list[Result]:
    with progress_bar() as bar:
        task = bar.add_task(f"simulating {len(seeds)} times {human(scenario.duration_s)}", total=len(seeds))
        return replicate(
            scenario,
            policy,
            parsed(option),
            seeds=seeds,
            processes=processes,
            progress=lambda done: bar.update(task, completed=done),
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
    """The whole run, and its operators."""
    whole = Table(title=f"{result.scenario}: {result.policy}, seed {result.seed}", show_header=False, min_width=60)
    for name, value in _rows(result):
        whole.add_row(name, value)
    parts = Table("operator", "success", "executors", "exec-s", "latency", "p99", "queued", "lost")
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
        ("saved against the peak", f"{percent(result.saved_resources)} of those serving"),
        ("", f"{percent(result.saved_executor_seconds)} of those paid for"),
        ("latency, mean / p99", f"{latency(result.mean_latency_s)} / {latency(result.p99_latency_s)}"),
        ("arrived / completed", f"{result.arrived:,} / {result.completed:,}"),
        ("queued / lost / late", f"{result.queued:,} / {result.lost:,} / {result.late:,}"),
        ("throughput degradation", percent(result.throughput_degradation)),
        ("processed", percent(result.processed_share)),
        ("error of expected input", percent(result.foresight.input_error)),
        ("error of wanted executors", percent(result.foresight.replica_error)),
        ("decisions", f"{decided}; {result.refused} refused"),
        ("switching", f"{result.switching_events} events, {human(result.switching_time_s)}"),
        ("switching share", percent(result.switching_share)),
    ]


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def latency(duration_s: float | None) -> str:
    return "–" if duration_s is None else human(duration_s)
