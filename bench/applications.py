"""Application throughput: rows/s of each application on two cores, beside the same computation as one plain query.

Run with `python -m bench.applications [NAME ...]`. Both work off the same generated records on `local[2]`. The first
fifth warms up and is not timed. The topology has a query for each operator and durable streams between them; the plain
query has all functions in one, with as many state partitions. What one query cannot do is said: loops, and several
stateful operators whose rows are updated. The last column is the work of one record in each operator, in microseconds;
with `--scenarios` it becomes the service time in `scenarios/applications`. Functions on single records are timed. Of
other operators it is by how much the tasks of a batch take longer with one more record, with its confidence interval of
95 %, over small and large batches in turn; less than a microsecond is written as one.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from bench._drain import drain
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from scipy.stats import theilslopes

from rheostat.errors import RheostatError
from rheostat.pipeline import start
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.observe.task_samples import TaskSampler
from rheostat.spark.query.per_record.record_function import RecordFunction, as_struct
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.sinks import FolderSink
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.spark.query.user_functions import emits_final_rows
from rheostat.spark.session import build_session
from rheostat.topology import REJECTED, Topology
from rheostat.workloads.application import APPLICATIONS, application
from rheostat.workloads.feeder import MakeRecord

FILES = 10
WARM_UP = 2
"""Files that are not timed."""
SIZES = (1, 20) * 8
"""Files after that, by their shares of the records: for operators that are not timed record by record."""
MEASURED = 6
"""Times as many records in those files."""
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


class Slope(NamedTuple):
    """Microseconds of one more record, with the limits of the confidence interval."""

    us: float
    low: float
    high: float


def timed_topology(
    spark: SparkSession, topology: Topology, records: list[Any], more: list[Any], folder: Path
) -> tuple[float, dict[str, float], dict[str, Slope]]:
    """Rows a second, and the microseconds of a record by operator: those that are timed, and others, which are measured
    on `more` records after that."""
    inbox = folder / "input"
    write(inbox, records, range(WARM_UP))
    with start(topology, sla="60s", policy="static", directory=folder / "run", on=spark) as running:
        runtime = running.runtime
        drain(runtime)
        before = timings_of(runtime)
        start_s = time.monotonic()
        write(inbox, records, range(WARM_UP, FILES))
        drain(runtime)
        took_s = time.monotonic() - start_s
        timed_us = {name: service_us(before[name], after) for name, after in timings_of(runtime).items()}
        others = [name for name in topology.operators if name not in timed_us]
        slopes = sampled(spark, runtime, others, inbox, more) if others else {}
    return len(records) * (1 - WARM_UP / FILES) / took_s, timed_us, slopes


def timings_of(runtime: Runtime) -> dict[str, tuple[int, float]]:
    """Records so far and the seconds that they took, of operators that are timed record by record."""
    found = {name: runtime.timings(name) for name in runtime.topology.operators}
    return {name: (each.records, each.busy_s) for name, each in found.items() if each is not None}


def service_us(before: tuple[int, float], after: tuple[int, float]) -> float:
    return 1e6 * (after[1] - before[1]) / (after[0] - before[0])


def sampled(
    spark: SparkSession, runtime: Runtime, operators: Sequence[str], inbox: Path, records: list[Any]
) -> dict[str, Slope]:
    """What one more record costs by operator, from the records and the run time of the tasks of each batch."""
    store = StatusStore(spark, driver_serves=True)
    queries = {query.unit.name: query for query in runtime.queries.values() if query.unit.name in operators}
    seen = {name: last_batch(query) for name, query in queries.items()}
    batches: dict[str, list[tuple[int, float]]] = {name: [] for name in queries}
    ends = [len(records) * part // sum(SIZES) for part in accumulate(SIZES)]
    for begin, end in pairwise([0, *ends]):
        write_file(inbox, f"{begin}-{end}.json", records[begin:end])
        drain(runtime)
        for name, query in queries.items():
            assert query.query is not None
            for batch in query.batches.after(seen[name]):
                seen[name] = batch.batch
                tasks = TaskSampler(store).sample({query.query.runId: batch.batch}).get(query.query.runId)
                if tasks is not None and batch.row_count:
                    batches[name].append((batch.row_count, sum(tasks.run_s().values())))
    return {name: slope_of(each) for name, each in batches.items() if len({rows for rows, _ in each}) > 1}


def last_batch(query: UnitQuery) -> int:
    return max((batch.batch for batch in query.batches.after(-1)), default=-1)


def slope_of(batches: Sequence[tuple[int, float]]) -> Slope:
    found = theilslopes([run_s for _, run_s in batches], [rows for rows, _ in batches])
    return Slope(1e6 * found.slope, 1e6 * found.low_slope, 1e6 * found.high_slope)


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
        all_records = generated(found.generate(1), (1 + MEASURED) * count)
        records, more = all_records[:count], all_records[count:]
        with tempfile.TemporaryDirectory(prefix="rheostat-bench-", ignore_cleanup_errors=True) as folder:
            topology = found.topology(Path(folder) / "split" / "input")
            rate, service, slopes = timed_topology(spark, topology, records, more, Path(folder) / "split")
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
            + [f"{name} {each.us:,.0f} ({each.low:,.0f} to {each.high:,.0f})" for name, each in slopes.items()]
        )
        shown = f"{plain:12,.0f}{rate / plain:8.2f}" if plain else f"{'-':>12}{'':8}"
        print(f"{name:16}{len(records):9,}{rate:12,.0f}{shown}  {costs}  {remark}", flush=True)
        if arguments.scenarios:
            found_us = service | {operator: each.us for operator, each in slopes.items()}
            write_service_times(SCENARIOS / f"{name}.toml", found_us)
    spark.stop()


if __name__ == "__main__":
    main()
