"""Application throughput: rows/s of each application on two cores, beside the same computation as one plain query.

Run with `python -m bench.applications [NAME ...]`. Both work off the same generated records on `local[2]`. The first
fifth warms up and is not timed. The topology has a query for each operator and durable streams between them; the plain
query has all functions in one, with as many state partitions. What one query cannot do is said: loops, and several
stateful operators whose rows are updated. The last column is the work of one record in each operator, in microseconds,
as far as it was measured. That of functions on single records is exact: with `--scenarios` it becomes the service time
in `scenarios/applications`. That of others ("about") is what Rheostat sees of it, and too high where a task has a few
records only.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from bench._drain import drain
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema

from rheostat.errors import RheostatError
from rheostat.pipeline import Pipeline, start
from rheostat.spark.query.per_record.record_function import RecordFunction, as_struct
from rheostat.spark.query.sinks import FolderSink
from rheostat.spark.query.user_functions import emits_final_rows
from rheostat.spark.session import build_session
from rheostat.topology import REJECTED, Topology
from rheostat.workloads.application import APPLICATIONS, application
from rheostat.workloads.feeder import MakeRecord

FILES = 10
WARM_UP = 2
"""Files that are not timed."""
SAMPLED = 12
"""Smaller batches after that, in which the work of operators is measured that are not timed record by record."""
FEWER_RECORDS = {"vld": 200, "fpd": 600, "orders": 4000, "sensitive": 4000, "insensitive": 4000, "opinions": 4000}
SCENARIOS = Path(__file__).parents[1] / "scenarios" / "applications"


def write(folder: Path, records: list[Any], files: range) -> None:
    """Some of `FILES` files with equal parts of the records."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in files:
        part = records[len(records) * number // FILES : len(records) * (number + 1) // FILES]
        write_file(folder, f"{number}.json", part)


def write_file(folder: Path, name: str, records: list[Any]) -> None:
    entered = datetime.now(UTC).isoformat()
    draft = folder / f".{name}"
    draft.write_text("".join(json.dumps({"entered": entered, **record}) + "\n" for record in records))
    draft.rename(folder / name)


def generated(make: MakeRecord, count: int) -> list[Any]:
    return [make(0.001 * n) for n in range(count)]


def timed_topology(
    spark: SparkSession, topology: Topology, records: list[Any], more: list[Any], folder: Path
) -> tuple[float, dict[str, float], dict[str, float]]:
    """Rows a second, and the microseconds of a record by operator: those that are timed, and others, which are measured
    on `more` records after that."""
    inbox = folder / "input"
    write(inbox, records, range(WARM_UP))
    with start(topology, sla="60s", policy="static", directory=folder / "run", on=spark) as running:
        drain(running.runtime)
        before = worked(running)
        start_s = time.monotonic()
        write(inbox, records, range(WARM_UP, FILES))
        drain(running.runtime)
        took_s = time.monotonic() - start_s
        timed_us = work_of_each(before, worked(running))
        timed_us = {name: us for name, us in timed_us.items() if running.runtime.timings(name) is not None}
        others_us = sampled(running, inbox, more) if len(timed_us) < len(topology.operators) else {}
    rate = len(records) * (1 - WARM_UP / FILES) / took_s
    return rate, timed_us, {name: us for name, us in others_us.items() if name not in timed_us}


def sampled(running: Pipeline, inbox: Path, records: list[Any]) -> dict[str, float]:
    """Microseconds of a record by operator, from batches of different sizes: they show what tasks cost beside their
    work. Nothing is learned from the first ones."""
    first: dict[str, tuple[int, float]] = {}
    ends = [len(records) * (number + 1) ** 2 // SAMPLED**2 for number in range(SAMPLED)]
    for begin, end in pairwise([0, *ends]):
        write_file(inbox, f"{begin}-{end}.json", records[begin:end])
        drain(running.runtime)
        first = worked(running) | first
    return work_of_each(first, worked(running))


def work_of_each(before: Mapping[str, tuple[int, float]], after: Mapping[str, tuple[int, float]]) -> dict[str, float]:
    return {
        name: 1e6 * (busy_s - before[name][1]) / (done - before[name][0])
        for name, (done, busy_s) in after.items()
        if name in before and done > before[name][0] and busy_s > before[name][1]
    }


def worked(running: Pipeline) -> dict[str, tuple[int, float]]:
    """Records and the seconds that they took so far, by operator: of functions on single records as these measure it,
    of others as Rheostat does, which it does not while executors are cold."""
    found: dict[str, tuple[int, float]] = {}
    for name, state in running.plant.observe().operators.items():
        timings = running.runtime.timings(name)
        if timings is not None:
            found[name] = timings.records, timings.busy_s
        elif state.completed is not None and state.busy_s is not None:
            found[name] = state.completed, state.busy_s
    return found


def timed_plain(spark: SparkSession, topology: Topology, records: list[Any], folder: Path) -> float:
    """Rows a second of one query that does the same."""
    inbox = folder / "input"
    write(inbox, records, range(WARM_UP))
    session = spark.newSession()
    partitions = max((operator.substreams or 0 for operator in topology.operators.values()), default=0) or 8
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    results = [name for name in results_of(topology) if not name.endswith(f".{REJECTED}")]
    as_text = [plain_frame(topology, session, name).select(sf.to_json(sf.struct("*")).alias("row")) for name in results]
    keyed = [operator for operator in topology.operators.values() if operator.keyed]
    updates = any(not emits_final_rows(operator.function) for operator in keyed)
    writer = reduce(DataFrame.unionByName, as_text).writeStream.foreachBatch(FolderSink(folder / "out"))
    writer = writer.outputMode("update" if updates else "append").option(
        "checkpointLocation", str(folder / "checkpoint")
    )
    query = writer.start()
    try:
        query.processAllAvailable()
        start_s = time.monotonic()
        write(inbox, records, range(WARM_UP, FILES))
        query.processAllAvailable()
        return len(records) * (1 - WARM_UP / FILES) / (time.monotonic() - start_s)
    finally:
        query.stop()


def results_of(topology: Topology) -> list[str]:
    read = {stream.name for stream in topology.streams}
    return [name for operator in topology.operators.values() for name in operator.selectivities if name not in read]


def plain_frame(topology: Topology, session: SparkSession, stream: str) -> DataFrame:
    """The DataFrame of a stream, with everything before it in the same query."""
    producer, _, output = stream.partition(".")
    if producer in topology.sources:
        reader = topology.sources[producer].reader
        assert reader is not None
        frame = reader(session)
        assert isinstance(frame, DataFrame)
        return frame
    operator = topology.operators[producer]
    inputs = [plain_frame(topology, session, name) for name in operator.inputs]
    if isinstance(operator.function, RecordFunction):
        return mapped(inputs[0], operator.function, output)
    assert operator.function is not None
    made = operator.function(*inputs)
    frame = made[output] if operator.outputs else made
    assert isinstance(frame, DataFrame)
    return frame


def mapped(df: DataFrame, function: RecordFunction, output: str) -> DataFrame:
    schema = as_struct(function.schema[output] if isinstance(function.schema, Mapping) else function.schema)
    columns = to_arrow_schema(schema, timezone="UTC")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = [item for record in batch.to_pylist() for item in function(record) or ()]
            if output:
                made = [record for name, record in made if name == output]
            yield pa.RecordBatch.from_pylist(made, schema=columns)

    return df.mapInArrow(run, schema)


def has_loop(topology: Topology) -> bool:
    return any(name.partition(".")[0] == part.name for part in topology.operators.values() for name in part.inputs)


def write_service_times(path: Path, service: Mapping[str, float]) -> None:
    """Put the measured service times into the scenario."""
    text = path.read_text(encoding="utf-8")
    for name, us in service.items():
        pattern = rf'(name = "{re.escape(name)}"\n(?:(?!\[\[).*\n)*?service = {{ mean = )"[^"]*"'
        text = re.sub(pattern, rf'\g<1>"{max(1, round(us))}us"', text)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(APPLICATIONS))
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--scenarios", action="store_true", help="write the service times to the scenario files")
    arguments = parser.parse_args()
    spark = build_session("applications", master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    print(f"{'':16}{'records':>9}{'topology':>12}{'one query':>12}{'ratio':>8}  µs a record", flush=True)
    for name in arguments.names:
        found = application(name)
        count = min(arguments.records, FEWER_RECORDS.get(name, arguments.records))
        all_records = generated(found.generate(1), 2 * count)
        records, more = all_records[:count], all_records[count:]
        with tempfile.TemporaryDirectory(prefix="rheostat-bench-", ignore_cleanup_errors=True) as folder:
            topology = found.topology(Path(folder) / "split" / "input")
            rate, service, others = timed_topology(spark, topology, records, more, Path(folder) / "split")
            plain, remark = None, ""
            if has_loop(topology):
                remark = "one query cannot have a loop"
            else:
                try:
                    single = found.topology(Path(folder) / "plain" / "input")
                    plain = timed_plain(spark, single, records, Path(folder) / "plain")
                except (AnalysisException, RheostatError) as error:
                    remark = f"refused by Spark: {str(error).splitlines()[0][:60]}"
        costs = ", ".join(
            [f"{operator} {us:,.0f}" for operator, us in service.items()]
            + [f"{operator} about {us:,.0f}" for operator, us in others.items()]
        )
        shown = f"{plain:12,.0f}{rate / plain:8.2f}" if plain else f"{'-':>12}{'':8}"
        print(f"{name:16}{len(records):9,}{rate:12,.0f}{shown}  {costs}  {remark}", flush=True)
        if arguments.scenarios:
            write_service_times(SCENARIOS / f"{name}.toml", service)
    spark.stop()


if __name__ == "__main__":
    main()
