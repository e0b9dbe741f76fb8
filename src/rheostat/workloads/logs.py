"""Logs: lines of system logs parsed, reduced to templates, judged and counted, an application of PA-SPS (§4.6.3).

    lines ──> parse ──good──> template ──> judge ──> count (by template)
                └─rejected

`rheostat run logs --input FILE` reads your own lines, in the formats of Loghub's HDFS, Spark, Hadoop, Apache and syslog
files.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rheostat.load import Erratic
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require

FORMATS = [
    (re.compile(r"(?P<time>\d{6} \d{6}) \d+ (?P<level>[A-Z]+) (?P<component>\S+): (?P<message>.*)"), "%y%m%d %H%M%S"),
    (
        re.compile(r"(?P<time>\d\d/\d\d/\d\d \d\d:\d\d:\d\d) (?P<level>[A-Z]+) (?P<component>\S+): (?P<message>.*)"),
        "%y/%m/%d %H:%M:%S",
    ),
    (
        re.compile(
            r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ (?P<level>[A-Z]+) \[.*?\] "
            r"(?P<component>\S+): (?P<message>.*)"
        ),
        "%Y-%m-%d %H:%M:%S",
    ),
    (
        re.compile(r"\[(?P<time>\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4})\] \[(?P<level>\w+)\] (?P<message>.*)"),
        "%a %b %d %H:%M:%S %Y",
    ),
    (re.compile(r"\w{3} +\d+ \d\d:\d\d:\d\d \S+ (?P<component>[^:\[ ]+)(?:\[\d+\])?: (?P<message>.*)"), None),
]
"""HDFS, Spark, Hadoop, Apache and syslog, which has neither a year nor a level."""
LEVELS = ("DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL")
PARSED = "level string, component string, message string"

_VARIABLES = re.compile(
    r"blk_-?\d+|(?<![\w.])/?\d+\.\d+\.\d+\.\d+(?::\d+)?|0x[0-9a-f]+|(?:/[\w.-]+){2,}|(?<![A-Za-z])-?\d[\d.,:]*", re.I
)
_TROUBLE = re.compile(r"fail|error|exception|denied|timed? ?out|lost|refused|invalid", re.I)


def topology(folder: Path, substreams: int = 8) -> Topology:
    return Topology(
        "logs",
        [
            Source("lines", reader=json_records(folder, "line string")),
            Operator("parse", parse, inputs="lines", outputs={"good": 1, "rejected": 0}),
            Operator("template", find_template, inputs="parse.good"),
            Operator("judge", judge, inputs="template"),
            Operator("count", count, inputs="judge", key="template", substreams=substreams),
        ],
    )


@checked(PARSED)
def parse(record: Record) -> Iterator[Record]:
    line = record["line"].strip()
    require(line != "", "empty line")
    require(len(line) <= 10_000, "line too long")
    found = next(((match, time) for form, time in FORMATS if (match := form.fullmatch(line))), None)
    require(found is not None, "unknown format")
    assert found is not None
    match, time = found
    parts = match.groupdict()
    level = parts.get("level", "INFO").upper()
    require(level in LEVELS, "unknown level")
    if time is not None:
        _require_plausible(parts["time"], time)
    yield {"level": level, "component": parts.get("component") or "apache", "message": parts["message"]}


def _require_plausible(text: str, form: str) -> None:
    try:
        at = datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        at = datetime.min.replace(tzinfo=UTC)
    require(at.year >= 1990, "no usable time")
    require(at <= datetime.now(UTC) + timedelta(days=1), "time in the future")


@per_record("level string, component string, template string, variables long")
def find_template(line: Record) -> Iterator[Record]:
    """The message with `<*>` for everything that varies: numbers, addresses, blocks, paths."""
    template, variables = _VARIABLES.subn("<*>", line["message"])
    yield {"level": line["level"], "component": line["component"], "template": template, "variables": variables}


@per_record("template string, component string, severity string")
def judge(line: Record) -> Iterator[Record]:
    trouble = bool(_TROUBLE.search(line["template"]))
    if line["level"] in ("ERROR", "FATAL"):
        severity = "critical"
    elif line["level"] in ("WARN", "WARNING") or trouble:
        severity = "suspect"
    else:
        severity = "normal"
    yield {"template": line["template"], "component": line["component"], "severity": severity}


def count(lines: DataFrame) -> DataFrame:
    return lines.groupBy("template", "component", "severity").agg(sf.count("*").alias("lines"))


def read_lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            yield {"line": line.rstrip("\n")}


MESSAGES = [
    ("INFO", "dfs.DataNode$PacketResponder", "PacketResponder {small} for block blk_{big} terminating"),
    ("INFO", "dfs.FSNamesystem", "BLOCK* NameSystem.addStoredBlock: blockMap updated: {ip}:50010 is added to blk_{big} "
     "size {size}"),
    ("INFO", "dfs.DataNode$DataXceiver", "Receiving block blk_{big} src: /{ip}:{port} dest: /{ip}:50010"),
    ("INFO", "dfs.DataBlockScanner", "Verification succeeded for blk_{big}"),
    ("INFO", "dfs.DataNode$BlockReceiver", "Received block blk_{big} of size {size} from /{ip}"),
    ("INFO", "dfs.FSDataset", "Deleting block blk_{big} file /mnt/hadoop/dfs/data/current/subdir{small}/blk_{big}"),
    ("WARN", "dfs.DataNode$DataXceiver", "{ip}:50010:Got exception while serving blk_{big} to /{ip}:"),
    ("WARN", "dfs.PendingReplicationBlocks", "PendingReplicationMonitor timed out block blk_{big}"),
    ("ERROR", "dfs.DataNode", "writeBlock blk_{big} received exception java.io.IOException: Connection reset by peer"),
]  # fmt: skip


def generate(seed: int) -> MakeRecord:
    """Lines of HDFS, most of them of few kinds."""
    rng = np.random.default_rng(seed)
    shares = zipf(len(MESSAGES), 1.0)

    def make(time_s: float) -> dict[str, str]:
        level, component, message = MESSAGES[rng.choice(len(MESSAGES), p=shares)]
        filled = message.format(
            small=rng.integers(9),
            big=rng.integers(-(2**62), 2**62),
            size=rng.integers(1, 2**26),
            port=rng.integers(30000, 60000),
            ip=f"10.{rng.integers(250)}.{rng.integers(250)}.{rng.integers(1, 250)}",
        )
        at = datetime(2008, 11, 9, tzinfo=UTC) + timedelta(seconds=time_s)
        return {"line": f"{at:%y%m%d %H%M%S} {rng.integers(1, 30000)} {level} {component}: {filled}"}

    return make


APPLICATION = Application(topology, generate, Erratic(100, 600, "15s", seed=2), read=read_lines)
