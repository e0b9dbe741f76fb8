"""Run settings: everything that `rheostat run` can be given, from a TOML file and the command line, which wins."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from rheostat.errors import ConfigError, nearest
from rheostat.plan import Plan
from rheostat.policies.registry import DEFAULT_POLICY
from rheostat.sla import Budget
from rheostat.topology import Topology

_TABLES = ("options", "sources", "sinks", "kafka", "conf")
"""Settings that are merged entry by entry."""

SINK_FORMS = "PATH or parquet:PATH, json:PATH, csv:PATH, orc:PATH, kafka:TOPIC@BROKERS, console"


def _said(description: str, *examples: Any) -> msgspec.Meta:
    return msgspec.Meta(description=description, examples=list(examples))


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run by their names in a file. Examples are what a commented file shows where no default is."""

    app: Annotated[
        str | None,
        _said("a Python file, and the name of the topology in it; or an application's name", "app.py:topology"),
    ] = None
    input: Annotated[
        list[str], _said("files or folders that an application called by name reads instead of generated input", "data")
    ] = []
    rate: Annotated[float | None, _said("records/s of an application's input, instead of its own load", 100.0)] = None
    sla: Annotated[str | None, _said("latency and window of the SLA", "5s/30s")] = None
    policy: Annotated[str, _said("policy name; `rheostat policies` lists them")] = DEFAULT_POLICY
    master: Annotated[
        str | None, _said("Spark master URL; without it an embedded cluster is started", "spark://host:7077")
    ] = None
    cluster: Annotated[str | None, _said("folder of a cluster started by `rheostat cluster`", "rheostat-cluster")] = (
        None
    )
    dir: Annotated[str, _said("folder for checkpoints, streams, results and the journal")] = "rheostat-run"
    executors: Annotated[
        int | dict[str, int] | None,
        _said("executors to start with, for each operator or by operator; a run that continues keeps its own", 1),
    ] = None
    min_executors: Annotated[
        int | dict[str, int] | None, _said("fewest executors, for each operator or by operator", 1)
    ] = None
    max_executors: Annotated[int | None, _said("most executors of all, the one that sources need included", 8)] = None
    period: Annotated[str, _said("time between two turns of the control loop")] = "2s"
    for_: Annotated[str | None, _said("stop after this time; without it, run until a signal", "10m")] = msgspec.field(
        name="for", default=None
    )
    dashboard: Annotated[
        str | None,
        _said("serve a page of the run here; beyond this machine it needs a token", "127.0.0.1:8642"),
    ] = None
    webhook: Annotated[
        str | None, _said("address that is told of missed SLAs and exhausted budgets", "https://example.org/alerts")
    ] = None
    log_format: Annotated[
        Literal["text", "json"] | None, _said("how a run without a terminal is logged: text or json", "json")
    ] = None
    dry_run: Annotated[bool, _said("show decisions without carrying them out")] = False
    packages: Annotated[
        list[str], _said("Maven packages that Spark loads", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0")
    ] = []
    streams: Annotated[
        str | None, _said("Kafka topics for the streams between operators, instead of files", "kafka:words@broker:9092")
    ] = None
    options: Annotated[dict[str, Any], _said("options of the policy", {"smoothing": "alpha:0.8"})] = {}
    sources: Annotated[
        dict[str, str], _said("Kafka topics that are read instead, by source", {"sentences": "kafka:lines@broker:9092"})
    ] = {}
    sinks: Annotated[
        dict[str, str], _said(f"where results go, by operator: {SINK_FORMS}", {"count": "json:results/counts"})
    ] = {}
    kafka: Annotated[
        dict[str, str],
        _said("options of Spark's connector for all topics that are named here", {"kafka.security.protocol": "SSL"}),
    ] = {}
    conf: Annotated[
        dict[str, str | int | float | bool], _said("settings of Spark", {"spark.executor.memory": "1g"})
    ] = {}

    @property
    def spark_settings(self) -> dict[str, str | int | float | bool]:
        """`conf`, with the packages."""
        packages = [*filter(None, [self.conf.get("spark.jars.packages")]), *self.packages]
        return {**self.conf, **({"spark.jars.packages": ",".join(map(str, packages))} if packages else {})}

    def budget(self, topology: Topology) -> Budget:
        return Budget(self.max_executors, least=_by_operator(self.min_executors, topology))

    def first_plan(self, topology: Topology, budget: Budget) -> Plan | None:
        """What to start with, if the user said so."""
        if self.executors is None:
            return None
        least: dict[str, int] = {name: budget.minimum(name) for name in topology.operators}
        plan = Plan.initial(topology, {**least, **_by_operator(self.executors, topology)})
        for name in topology.operators:
            if plan.size(name) < budget.minimum(name):
                raise ConfigError(
                    f"operator {name!r} starts with {plan.size(name)} executors, below its minimum of "
                    f"{budget.minimum(name)}: raise executors or lower min_executors"
                )
        if budget.total is not None and plan.total > budget.total:
            raise ConfigError(
                f"the operators start with {plan.total} executors together, above the {budget.total} of max_executors"
            )
        return plan


def merged_settings(file: Path | None, given: Mapping[str, Any]) -> RunSettings:
    """The settings of `file` and those `given` on the command line, which win; None means that one is not given."""
    content = {} if file is None else _read(file)
    for one, other in (("master", "cluster"), ("cluster", "master")):
        if given.get(one) is not None:
            content.pop(other, None)
    for name, value in given.items():
        if value is not None:
            content[name] = {**content.get(name, {}), **value} if name in _TABLES else value
    try:
        return msgspec.convert(content, RunSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"the settings cannot be used: {_reason(error)}") from None


def _read(file: Path) -> dict[str, Any]:
    """The settings in `file`, with their names and types checked."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        msgspec.convert(content, RunSettings)
    except OSError as error:
        raise ConfigError(f"configuration {str(file)!r} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {str(file)!r} is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"configuration {str(file)!r}: {_reason(error)}") from None
    known = [field.encode_name for field in msgspec.structs.fields(RunSettings)]
    for name in content:
        if name not in known:
            raise ConfigError(f"configuration {str(file)!r} has no setting {name!r}; {nearest(name, known)}")
    return content


def _reason(error: msgspec.ValidationError) -> str:
    """msgspec's message in the words of TOML: "expected a string, got int - at sla"."""
    reason = str(error).replace("object", "table").replace("`", "").replace(" - at $.", " - at ")
    return reason[0].lower() + reason[1:]


def _by_operator(numbers: int | dict[str, int] | None, topology: Topology) -> dict[str, int]:
    if isinstance(numbers, int):
        return dict.fromkeys(topology.operators, numbers)
    return dict(numbers or {})
