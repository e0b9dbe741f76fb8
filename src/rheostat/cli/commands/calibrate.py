"""`rheostat calibrate`: measures an application on Spark and describes it for the simulator."""

import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.application import is_name, load_topology
from rheostat.cli.progress_bar import progress_bar
from rheostat.cli.run_settings import SINK_FORMS
from rheostat.cli.shared_options import Json, parse_pairs
from rheostat.cli.spark_target import ClusterFolder, Master, check_target, open_target
from rheostat.duration import human, positive_seconds
from rheostat.errors import ConfigError
from rheostat.experiments.calibration.batch_fit import Estimate
from rheostat.experiments.calibration.plant_file import plant_file
from rheostat.experiments.calibration.plant_fit import PlantFit, fit_plant
from rheostat.experiments.scenario import read_scenario
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.topology import Topology

if TYPE_CHECKING:
    from rheostat.experiments.calibration.spark_measurement import Feed

_EXECUTORS = "1,2,4,1,3"
_TIME = "30s"
_USUAL_OVER_S = 300.0
_SHARES_OF_USUAL = (0.25, 0.5)


def calibrate_application(
    app: Annotated[
        str,
        typer.Argument(
            metavar="APP.py[:name]|NAME|SCENARIO.toml",
            help="A Python file, and the name of the topology in it; or the name of an application that comes with "
            "Rheostat; or a scenario, which is emulated.",
        ),
    ],
    master: Master = None,
    folder: ClusterFolder = None,
    out: Annotated[Path, typer.Option(help="The scenario file to write.")] = Path("plant.toml"),
    executors: Annotated[
        str, typer.Option(metavar="N,N,...", help="Executors of each operator, one number after the other.")
    ] = _EXECUTORS,
    rates: Annotated[
        str | None,
        typer.Option(
            metavar="R,R,...",
            help="Input in records/s for each executor. A Python file needs --feed for it, or has input as it comes.",
        ),
    ] = None,
    feed: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder that the source reads: --records are written there.")
    ] = None,
    records: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sample records for --feed: one JSON object in each line.")
    ] = None,
    time: Annotated[str, typer.Option(help="How long each pair of executors and rate is measured.")] = _TIME,
    sink: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR=SINK", help=f"Where results go: {SINK_FORMS}; can be repeated."),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Setting of Spark; can be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure an application on Spark at several sizes and rates, and write a scenario file that simulates it.

    A scenario is emulated as `rheostat compare --on spark` does, and written again with the measured plant. NAME has
    generated input, by default a quarter and half of its usual load for each executor.
    """
    counts, time_s = _numbers(executors, "--executors"), positive_seconds(time, "--time")
    check_target(master, folder)
    _check_master(master)
    _check_out(out)
    spark_settings = parse_pairs(conf, "--conf", "spark.executor.memory=1g") or {}
    if app.endswith(".toml"):
        _refuse(feed=feed, records=records, sink=sink, conf=conf)
        topology, fit, content = _scenario(Path(app), counts, rates, time_s, master, folder)
    elif is_name(app):
        _refuse(feed=feed, records=records)
        sinks = parse_pairs(sink, "--sink", "count=json:results") or {}
        topology, fit, content = *_named(app, counts, rates, time_s, master, folder, sinks, spark_settings), None
    else:
        topology, content = load_topology(app), None
        sinks = parse_pairs(sink, "--sink", "count=json:results") or {}
        fed = _sample_feed(rates, feed, records)
        fit = _application(topology, counts, fed, time_s, master, folder, sinks, spark_settings)
    out.write_text(plant_file(topology, fit, content), encoding="utf-8")
    if json:
        print(msgspec.json.encode(fit).decode())
    else:
        Console().print(_table(topology, fit))
        Console().print(f"scenario: {out}; simulate it with rheostat simulate {out}", soft_wrap=True, highlight=False)


def _scenario(
    path: Path, counts: list[int], rates: str | None, time_s: float, master: str | None, folder: Path | None
) -> tuple[Topology, PlantFit, dict[str, Any]]:
    """An emulated scenario: its topology, the measured plant, and the content of its file."""
    scenario, content = read_scenario(path), tomllib.loads(path.read_text(encoding="utf-8"))
    wanted = None if rates is None else _rates(rates)
    from rheostat.experiments.calibration.emulated_scenario import default_rates, measure_scenario
    from rheostat.experiments.calibration.spark_measurement import CalibrationSettings

    topology = scenario.model.topology
    settings = CalibrationSettings(counts, wanted or default_rates(scenario), time_s)
    with _measuring(topology, counts, master, folder) as (cluster, progress, _):
        measured = measure_scenario(scenario, settings, master=master, cluster=cluster, progress=progress)
    return topology, fit_plant(topology, measured), content


def _named(
    name: str,
    counts: list[int],
    rates: str | None,
    time_s: float,
    master: str | None,
    folder: Path | None,
    sinks: dict[str, str],
    spark_settings: dict[str, str],
) -> tuple[Topology, PlantFit]:
    """An application that comes with Rheostat, on generated input."""
    from rheostat.load import Constant
    from rheostat.workloads.application import application
    from rheostat.workloads.feeder import Feeder

    found = application(name)
    usual = found.load.mean(_USUAL_OVER_S)
    wanted = [share * usual for share in _SHARES_OF_USUAL] if rates is None else _rates(rates)
    with tempfile.TemporaryDirectory(prefix="rheostat-calibrate-", ignore_cleanup_errors=True) as written:
        source, make = Path(written) / "input", found.generate(0)
        source.mkdir()
        topology = found.topology(source)

        def feed(rate: float | None) -> AbstractContextManager[object]:
            return nullcontext() if rate is None else Feeder(source, Constant(rate), make)

        fed = (feed, wanted)
        return topology, _application(topology, counts, fed, time_s, master, folder, sinks, spark_settings)


def _application(
    topology: Topology,
    counts: list[int],
    fed: "tuple[Feed, Sequence[float | None]] | None",
    time_s: float,
    master: str | None,
    folder: Path | None,
    sinks: dict[str, str],
    spark_settings: dict[str, str],
) -> PlantFit:
    """Measured with what feeds it, and at which rates; with its input as it comes without that."""
    from rheostat.experiments.calibration.spark_measurement import CalibrationSettings, measure_on_spark
    from rheostat.spark.query.sinks import checked_sinks
    from rheostat.spark.query.unit import units_of
    from rheostat.spark.target import SparkTarget

    checked = checked_sinks(sinks, units_of(topology))
    feed, rates = fed or (lambda rate: nullcontext(), (None,))
    settings = CalibrationSettings(counts, rates, time_s)
    with _measuring(topology, counts, master, folder) as (cluster, progress, directory):
        target = SparkTarget(master=master, cluster=cluster, settings=spark_settings)
        measured = measure_on_spark(
            topology, target, directory / "run", settings, sinks=checked, progress=progress, feed=feed
        )
    return fit_plant(topology, measured)


@contextmanager
def _measuring(topology: Topology, counts: list[int], master: str | None, folder: Path | None) -> Iterator[Any]:
    """A cluster with room for the most executors, a function that shows progress, and a folder; Spark's output is away
    from the terminal."""
    from rheostat.spark.act.cluster_view import RESERVED_EXECUTORS

    room = max(counts) * len(topology.operators) + RESERVED_EXECUTORS
    with ExitStack() as stack:
        name = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="rheostat-calibrate-", ignore_cleanup_errors=True)
        )
        bar = stack.enter_context(progress_bar())
        task = bar.add_task("starting a Spark cluster", total=1.0)
        cluster = stack.enter_context(open_target(master, folder, room))
        stack.enter_context(spark_output_to(Path(name) / "spark.log"))
        yield cluster, lambda what, share: bar.update(task, description=what, completed=share), Path(name)


def _sample_feed(
    rates: str | None, folder: Path | None, records: Path | None
) -> "tuple[Feed, Sequence[float | None]] | None":
    """Writes sample records to the folder that the source reads."""
    if rates is None:
        if folder is not None or records is not None:
            raise ConfigError("--feed and --records need --rates, e.g. --rates 5,10,15")
        return None
    wanted = _rates(rates)
    if folder is None or records is None:
        raise ConfigError(
            f"--rates {rates} need to know where input goes: give --feed DIR, the folder that the source reads, and "
            "--records FILE with sample records"
        )
    from rheostat.experiments.calibration.sample_feed import SampleFeed

    return SampleFeed(folder, records), wanted


def _refuse(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"--{name} is for your own application: this one has its own input, leave it out")


def _numbers(text: str, option: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"{option} {text!r} are not numbers of executors: give some, e.g. 1,2,4")
    numbers = [int(part) for part in parts]
    if len(set(numbers)) < 2:
        raise ConfigError(
            f"{option} {text!r} is one number only: the fixed cost of a batch and its cost per task could not be told "
            "apart; give several, e.g. 1,2,4"
        )
    if not any(later > earlier for earlier, later in pairwise(numbers)):
        raise ConfigError(f"{option} {text!r} never rise: no start of an executor would be seen; give e.g. 1,2,4")
    return numbers


def _rates(text: str) -> list[float]:
    try:
        rates = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        rates = []
    if not rates or not all(0 < rate < float("inf") for rate in rates):
        raise ConfigError(f"--rates {text!r} are not rates in records per second: give some, e.g. 5,10,15")
    return rates


def _check_master(master: str | None) -> None:
    if master is not None and master.startswith("local") and not master.startswith("local-cluster"):
        raise ConfigError(
            f"--master {master} has one process for everything, whose number cannot change: give a cluster, e.g. "
            "spark://host:7077, or leave it out for an embedded one"
        )


def _check_out(out: Path) -> None:
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist")


def _table(topology: Topology, fit: PlantFit) -> Table:
    table = Table("", "value", "± (95 %)", title=f"{topology.name}: as the simulator sees it")
    for name, found in fit.operators.items():
        for what, estimate in (
            ("service time", found.batches.service),
            ("fixed cost of a batch", found.batches.fixed),
            ("cost per task", found.batches.per_task),
        ):
            table.add_row(f"{name}: {what}", *_cells(estimate))
        table.add_row(f"{name}: variation of service (scv)", f"{found.scv:.3g}", "")
        if found.first_batch is not None:
            table.add_row(f"{name}: first batch after a change, longer by", *_cells(found.first_batch))
        if found.cost_while_starting is not None:
            table.add_row(
                f"{name}: cost of a batch while executors start, times", f"{found.cost_while_starting:.2f}", ""
            )
    for source_name, source in fit.sources.items():
        table.add_row(f"{source_name}: batches that read it", human(source.batch_s), "")
    table.add_row("start of an executor", *_cells(fit.starts.start))
    table.add_row("warm-up", *_cells(fit.starts.warm_up))
    table.add_row("started at once", "all" if fit.starts.at_once is None else str(fit.starts.at_once), "")
    if fit.cold_speed is not None:
        table.add_row("speed of the first executors while cold", f"{fit.cold_speed:.2f}", "")
    return table


def _cells(estimate: Estimate) -> tuple[str, str]:
    return human(estimate.value), "" if estimate.half_width is None else human(estimate.half_width)
