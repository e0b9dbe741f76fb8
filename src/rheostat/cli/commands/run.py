"""`rheostat run`: runs the user's own topology, or an application by its name, on Spark under the control loop."""

import sys
import time
from collections import Counter
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from rheostat.cli.application import is_name, load_topology
from rheostat.cli.dashboard_option import Address, print_address
from rheostat.cli.json_lines import JsonLines, log_as_json
from rheostat.cli.live_view import LiveView, show_live, watch
from rheostat.cli.run_history import RunHistory
from rheostat.cli.run_settings import SINK_FORMS, RunSettings, merged_settings
from rheostat.cli.shared_options import (
    PolicyName,
    PolicyOptionTexts,
    parse_numbers,
    parse_pairs,
    parse_policy_options,
)
from rheostat.cli.spark_target import ClusterFolder, Master, check_target, open_target
from rheostat.cli.topic_sources import ONLY, read_from_topics
from rheostat.duration import positive_seconds
from rheostat.errors import ConfigError, RheostatError
from rheostat.loop.controller import Listener
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.topology import REJECTED, Topology
from rheostat.web.address import address_of
from rheostat.web.webhook import Webhook, check_url

if TYPE_CHECKING:
    from rheostat.pipeline import Pipeline


def run_application(
    app: Annotated[
        str | None,
        typer.Argument(
            metavar="APP.py[:name]|NAME",
            help="A Python file, and the name of the topology in it; or the name of an application that comes with "
            "Rheostat, which runs on generated input.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings; `rheostat init` writes one. Options here win.")
    ] = None,
    input_: Annotated[
        list[Path] | None,
        typer.Option("--input", metavar="PATH", help="NAME reads this file or folder instead; can be repeated."),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Records/s of NAME's input, instead of its own load.")] = None,
    sla: Annotated[str | None, typer.Option(help="Latency and window of the SLA, e.g. 2s/10s.")] = None,
    policy: PolicyName = None,
    option: PolicyOptionTexts = None,
    master: Master = None,
    folder: ClusterFolder = None,
    executors: Annotated[
        list[str] | None,
        typer.Option(metavar="[OPERATOR=]N", help="Executors to start with, for each operator; can be repeated."),
    ] = None,
    min_executors: Annotated[
        list[str] | None,
        typer.Option(metavar="[OPERATOR=]N", help="Fewest executors of each operator; can be repeated."),
    ] = None,
    max_executors: Annotated[
        int | None, typer.Option(min=1, help="Upper limit for all executors, the one that sources need included.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SOURCE=]kafka:TOPIC@BROKERS", help="A Kafka topic that a source reads instead; can be repeated."
        ),
    ] = None,
    kafka_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Option of Spark's Kafka connector, e.g. minPartitions=8; can be repeated."
        ),
    ] = None,
    streams: Annotated[
        str | None,
        typer.Option(
            metavar="kafka:PREFIX@BROKERS", help="Kafka topics for the streams between operators, instead of files."
        ),
    ] = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR=SINK", help=f"Where results go: {SINK_FORMS}; can be repeated."),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Setting of Spark; can be repeated.")
    ] = None,
    packages: Annotated[
        str | None, typer.Option(help="Maven packages that Spark loads, separated by commas.", metavar="G:A:V,...")
    ] = None,
    for_: Annotated[str | None, typer.Option("--for", help="Stop after this time, e.g. 10m.")] = None,
    dry_run: Annotated[
        bool | None, typer.Option("--dry-run/--no-dry-run", help="Show decisions without carrying them out.")
    ] = None,
    dashboard: Address = None,
    webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="Post an alert here when an SLA is missed, and more.")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(metavar="text|json", help="json: a JSON object for each event, and no live view.")
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--dir", help="Folder for checkpoints, streams, results and the journal (rheostat-run)."),
    ] = None,
    period: Annotated[str | None, typer.Option(help="Time between two turns of the control loop (2s).")] = None,
) -> None:
    """Run a topology on Spark and keep it within its SLA.

    Ctrl-C (exit status 130) and SIGTERM (143) stop it when the running batches have finished, at the latest after a
    minute. A second one stops it at once. Run again with the same --dir it continues.
    """
    given = {
        "app": app,
        "input": [str(path) for path in input_] if input_ else None,
        "rate": rate,
        "sla": sla,
        "policy": policy,
        "master": master,
        "cluster": None if folder is None else str(folder),
        "dir": directory,
        "executors": parse_numbers(executors, "--executors"),
        "min_executors": parse_numbers(min_executors, "--min-executors"),
        "max_executors": max_executors,
        "period": period,
        "for": for_,
        "dry_run": dry_run,
        "dashboard": dashboard,
        "webhook": webhook,
        "log_format": log_format,
        "packages": None if packages is None else [name.strip() for name in packages.split(",") if name.strip()],
        "options": parse_policy_options(option),
        "streams": streams,
        "sources": _parse_sources(source),
        "kafka": parse_pairs(kafka_option, "--kafka-option", "minPartitions=8"),
        "sinks": parse_pairs(sink, "--sink", "count=json:results"),
        "conf": parse_pairs(conf, "--conf", "spark.executor.memory=1g"),
    }
    _run(merged_settings(config, given))


def _parse_sources(texts: list[str] | None) -> dict[str, str] | None:
    """Topics by source; a topic alone is for the only source."""
    named = [text if not text.startswith("kafka:") else f"{ONLY}={text}" for text in texts or ()]
    for text in named:
        if "=kafka:" not in text:
            raise ConfigError(f"--source {text!r} is no topic: write kafka:TOPIC@BROKERS or SOURCE=kafka:TOPIC@BROKERS")
    return {name: topic for name, _, topic in (text.partition("=") for text in named)} or None


def _run(settings: RunSettings) -> NoReturn:
    """Errors of the user are found before Spark starts."""
    if settings.app is None:
        raise ConfigError("the run has no application: give APP.py, or app in a --config file")
    if settings.sla is None and not is_name(settings.app):
        raise ConfigError("the run has no SLA: give --sla, e.g. 5s/30s, or sla in a --config file")
    topology, feed, usual_sla = _application(settings.app, settings)
    topology = read_from_topics(topology, settings.sources, settings.kafka)
    if len(settings.sources) == len(topology.sources):
        feed = nullcontext()
    sla = SLA.parse(settings.sla or usual_sla)
    budget = settings.budget(topology)
    plan = settings.first_plan(topology, budget)
    make_policy(settings.policy, Goal(topology, (sla,), budget), settings.options)
    address_of(settings.dashboard or False)
    if settings.webhook is not None:
        check_url(settings.webhook)
    loop = LoopOptions(positive_seconds(settings.period, "--period"), dry_run=settings.dry_run)
    end_s = None if settings.for_ is None else positive_seconds(settings.for_, "--for")
    folder = None if settings.cluster is None else Path(settings.cluster)
    check_target(settings.master, folder)
    from rheostat.pipeline import start
    from rheostat.spark.kafka.stream_topics import streams_of
    from rheostat.spark.query.sinks import checked_sinks
    from rheostat.spark.query.unit import units_of
    from rheostat.spark.target import SparkTarget

    sinks = checked_sinks(settings.sinks, units_of(topology), settings.kafka)
    streams = None if settings.streams is None else streams_of(settings.streams, settings.kafka)
    history, console = RunHistory(), Console(stderr=settings.log_format == "json")
    if settings.log_format == "json":
        log_as_json()
        listeners: list[Listener] = [history, JsonLines(sla)]
    else:
        listeners = watch(history, sla, console)
    if settings.webhook is not None:
        listeners.append(Webhook(settings.webhook, topology.name))
    with ExitStack() as stack:
        with console.status("starting a Spark cluster ..."):
            cluster = stack.enter_context(open_target(settings.master, folder, _room_for(topology, budget, plan)))
        with console.status("starting the queries ..."), spark_output_to(Path(settings.dir) / "spark.log"):
            running = stack.enter_context(
                start(
                    topology,
                    sla=sla,
                    policy=settings.policy,
                    options=settings.options,
                    budget=budget,
                    plan=plan,
                    directory=settings.dir,
                    sinks=sinks,
                    streams=streams,
                    on=SparkTarget(master=settings.master, cluster=cluster, settings=settings.spark_settings),
                    loop=loop,
                    listeners=listeners,
                    dashboard=settings.dashboard or False,
                )
            )
        if running.dashboard is not None:
            print_address(running.dashboard, console)
        page = None if running.dashboard is None else running.dashboard.url
        view = LiveView(topology.name, history, sla, page)
        with feed, nullcontext() if settings.log_format == "json" else show_live(view, console):
            status = running.wait_for_stop(end_s)
        if status:
            print("stopping when the running batches have finished; a second signal stops at once", file=sys.stderr)
    for line in [*_rejected(Path(settings.dir)), *_summary(settings)]:
        console.print(line, soft_wrap=True, highlight=False)
    console.print(f"stopped; run it again with --dir {settings.dir} to continue from here", soft_wrap=True)
    _end_with(running, status)


def _application(app: str, settings: RunSettings) -> tuple[Topology, AbstractContextManager[object], str]:
    """The topology, what feeds it while the context is open, and the SLA if the user gives none."""
    if not is_name(app):
        for given, name in ((settings.input, "input"), (settings.rate, "rate")):
            if given:
                raise ConfigError(f"--{name} is for applications that are run by name; {app!r} reads its own sources")
        return load_topology(app), nullcontext(), ""
    from rheostat.load import Constant
    from rheostat.workloads.application import application
    from rheostat.workloads.feeder import Feeder

    found, folder = application(app), Path(settings.dir) / "input"
    load = found.load if settings.rate is None else Constant(settings.rate)
    make = found.replay(map(Path, settings.input)) if settings.input else found.generate(int(time.time()))
    return found.topology(folder.absolute()), Feeder(folder, load, make), found.sla


def _rejected(directory: Path) -> list[str]:
    """How many records were set aside in this directory so far, why, and where they are."""
    from pyarrow import dataset

    lines = []
    for folder in sorted((directory / "results").glob(f"*.{REJECTED}")):
        reasons = Counter(dataset.dataset(folder).to_table(["reason"])["reason"].to_pylist())
        if reasons:
            counts = ", ".join(f"{reason} ({count:,})" for reason, count in reasons.most_common())
            lines.append(f"{reasons.total():,} records were set aside in {folder}: {counts}")
    return lines


def _summary(settings: RunSettings) -> list[str]:
    """What an application that is run by name says of its results."""
    if settings.app is None or not is_name(settings.app):
        return []
    from rheostat.workloads.application import application

    summary = application(settings.app).summary
    return [] if summary is None else [summary(Path(settings.dir))]


def _room_for(topology: Topology, budget: Budget, plan: Plan | None) -> int:
    """What an embedded cluster has room for: the budget, or twice what the run starts with and one for sources."""
    first = sum(map(budget.minimum, topology.operators)) if plan is None else plan.total
    return budget.total or 2 * first + 1


def _end_with(running: "Pipeline", status: int) -> NoReturn:
    """Exit with `status`. An operator that never ran is an error, and is named even after a signal."""
    try:
        running.check_all_ran()
    except RheostatError as error:
        if not status:
            raise
        print(f"error: {error}", file=sys.stderr)
    raise typer.Exit(status)
