"""Plan file of `rheostat plan`: operators and their rates in JSON, from which an allocation is computed."""

import math
from pathlib import Path
from typing import Any

import msgspec

from rheostat.duration import human
from rheostat.errors import ConfigError, nearest
from rheostat.jsonfile import parse_json, read_json
from rheostat.queueing.allocation.allocate import assign_processors, min_processors
from rheostat.queueing.models.gigk import GIGk, mmk
from rheostat.queueing.models.microbatch import MicroBatch
from rheostat.queueing.models.mixed_speeds import MixedSpeeds
from rheostat.queueing.models.model import QueueModel
from rheostat.queueing.models.split_mm1 import SplitMM1
from rheostat.queueing.network import ExecutorAllocation, Network, Station
from rheostat.queueing.traffic import Route, arrival_rates

MODELS = ("mmk", "gigk", "microbatch", "mm1")

ASSUMED_BATCH_S = 0.18
"""The default cost of a batch: the median of an otherwise idle query in local mode."""


class OperatorEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator of the file. Which of the optional values are used depends on the model."""

    name: str
    service_rate: float
    arrival_rate: float | None = None
    arrival_scv: float = 1.0
    service_scv: float = 1.0
    margin: float = 0.0
    batch_fixed_s: float | None = None
    batch_per_task_s: float | None = None
    tasks: int | None = None
    speeds: tuple[float, ...] = ()
    min_executors: int = 1
    max_executors: int | None = None


class PlanFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operators with their arrival rates and `external_rate`, or with `external` rates and `routes` instead."""

    operators: tuple[OperatorEntry, ...]
    external_rate: float | None = None
    external: dict[str, float] | None = None
    routes: tuple[Route, ...] = ()
    batch_fixed_s: float | None = None
    batch_per_task_s: float | None = None


class PlannedAllocation(msgspec.Struct, frozen=True):
    """An allocation, the model for which it is optimal, and the assumptions made."""

    model: str
    allocation: ExecutorAllocation
    assumptions: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "allocation": self.allocation.by_name(),
            "total": self.allocation.total(),
            "expected_latency_s": self.allocation.expected_latency_s(),
            "utilisation": self.allocation.utilisation(),
            "assumptions": list(self.assumptions),
        }

    def as_text(self) -> str:
        utilisation = self.allocation.utilisation()
        width = max(len("operator"), *map(len, utilisation))
        lines = [f"{'operator':<{width}}  executors  utilisation"]
        for name, executors in self.allocation.by_name().items():
            lines.append(f"{name:<{width}}  {executors:>9}  {utilisation[name]:>11.1%}")
        lines.append(f"{'total':<{width}}  {self.allocation.total():>9}")
        lines.append(f"expected latency {human(self.allocation.expected_latency_s())} ({self.model})")
        return "\n".join([*lines, *(f"assumed: {assumption}" for assumption in self.assumptions)])


def read(path: Path) -> PlanFile:
    """The plan file at `path`."""
    return read_json(path, PlanFile, "plan file")


def parse(text: bytes | str, where: str = "plan file") -> PlanFile:
    """The plan file with this content; `where` names it in errors."""
    return parse_json(text, PlanFile, where)


def plan(
    file: PlanFile, k_max: int | None = None, t_max_s: float | None = None, model: str = "mmk"
) -> PlannedAllocation:
    """The best allocation of `k_max` executors, or the one of the fewest that meet `t_max_s`: give one of them."""
    network = network_of(file, model)
    if k_max is not None and t_max_s is None:
        allocation = assign_processors(network, k_max)
    elif t_max_s is not None and k_max is None:
        allocation = min_processors(network, t_max_s)
    else:
        raise ConfigError("give either K_max, the executors there are, or T_max, the latency to meet")
    return PlannedAllocation(model, allocation, _assumptions(file, model))


def network_of(file: PlanFile, model: str = "mmk") -> Network:
    """The queueing network that the file describes, each operator by this model."""
    rates = _arrival_rates(file)
    stations = tuple(_station(file, entry, rates[entry.name], model) for entry in file.operators)
    return Network(stations, _external_rate(file))


def _arrival_rates(file: PlanFile) -> dict[str, float]:
    given = {entry.name: entry.arrival_rate for entry in file.operators if entry.arrival_rate is not None}
    if file.external is not None:
        if given:
            raise ConfigError(
                f"operator {next(iter(given))!r} has an arrival_rate, but arrival rates follow from the external "
                "rates: leave it out"
            )
        return arrival_rates([entry.name for entry in file.operators], file.external, file.routes)
    if file.routes:
        raise ConfigError("routes need external rates: give 'external', the rates by operator")
    for entry in file.operators:
        if entry.arrival_rate is None:
            raise ConfigError(f"operator {entry.name!r} has no arrival_rate: give it, or external rates and routes")
    return given


def _external_rate(file: PlanFile) -> float:
    if file.external is None:
        if file.external_rate is None:
            raise ConfigError("external_rate is missing: give the tuples a second that enter from outside")
        return file.external_rate
    total = math.fsum(file.external.values())
    if file.external_rate is not None and not math.isclose(file.external_rate, total):
        raise ConfigError(f"external_rate is {file.external_rate!r}, but external adds up to {total!r}: give one")
    return total


def _station(file: PlanFile, entry: OperatorEntry, arrival_rate: float, model: str) -> Station:
    try:
        even = _model(file, entry, arrival_rate, model)
        uneven: QueueModel = MixedSpeeds(even, entry.speeds) if entry.speeds else even
    except ConfigError as error:
        raise ConfigError(f"operator {entry.name!r}: {error}") from error
    most = math.inf if entry.max_executors is None else entry.max_executors
    return Station(entry.name, uneven, entry.min_executors, most)


def _model(file: PlanFile, entry: OperatorEntry, arrival_rate: float, model: str) -> GIGk | SplitMM1 | MicroBatch:
    match model:
        case "mmk":
            return mmk(arrival_rate, entry.service_rate)
        case "gigk":
            return GIGk(arrival_rate, entry.service_rate, entry.arrival_scv, entry.service_scv)
        case "mm1":
            return SplitMM1(arrival_rate, entry.service_rate, entry.margin)
        case "microbatch":
            fixed_s, per_task_s = _batch_cost_s(file, entry)
            return MicroBatch(arrival_rate, entry.service_rate, fixed_s, per_task_s, entry.tasks)
        case _:
            raise ConfigError(f"there is no model {model!r}; {nearest(model, MODELS)}")


def _batch_cost_s(file: PlanFile, entry: OperatorEntry) -> tuple[float, float]:
    """c0 and c1: the operator's own, else the file's, else the assumed ones."""
    fixed_s = file.batch_fixed_s if entry.batch_fixed_s is None else entry.batch_fixed_s
    per_task_s = file.batch_per_task_s if entry.batch_per_task_s is None else entry.batch_per_task_s
    if fixed_s is None and per_task_s is None:
        return ASSUMED_BATCH_S, 0.0
    return fixed_s or 0.0, per_task_s or 0.0


def _assumptions(file: PlanFile, model: str) -> tuple[str, ...]:
    if model != "microbatch" or file.batch_fixed_s is not None or file.batch_per_task_s is not None:
        return ()
    unknown = [e.name for e in file.operators if e.batch_fixed_s is None and e.batch_per_task_s is None]
    if not unknown:
        return ()
    return (
        f"a batch of {', '.join(unknown)} costs {human(ASSUMED_BATCH_S)} however many tasks it has; "
        "measure it and give batch_fixed_s and batch_per_task_s",
    )
