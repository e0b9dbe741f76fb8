"""Simulation model: how records arrive, how operators serve, and what changes of the cluster cost."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
import numpy as np

from rheostat.duration import Duration, positive_seconds, seconds
from rheostat.errors import ConfigError
from rheostat.grouping import check
from rheostat.grouping.check import BATCH_GREEDY, KEY
from rheostat.grouping.osg.task import LEAST, TOLERANCE, WINDOW_S
from rheostat.load import Constant, Shape
from rheostat.names import OperatorName
from rheostat.topology import Topology

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything in a scenario file."""


class Service(Spec, frozen=True):
    """Service time of one record on an executor of speed 1, with mean `mean`.

    `scv` is the squared coefficient of variation of a log-normal time, `spread` the half-width of a uniform one as a
    share of the mean. With `cost_by_value`, a record with value v takes `cost_by_value[v]` times as long.
    """

    mean: Duration = "1ms"
    distribution: Literal["fixed", "exponential", "lognormal", "uniform"] = "exponential"
    scv: Positive = 1.0
    spread: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    cost_by_value: tuple[NotNegative, ...] = ()

    @property
    def mean_s(self) -> float:
        return positive_seconds(self.mean, "service mean")


class Batches(Spec, frozen=True):
    """Micro-batches: each costs `fixed` + `per_task` · tasks beside its work, and starts at least `trigger` after the
    previous one.

    That cost varies from batch to batch with the squared coefficient of variation `scv` (log-normal).

    Unless `tasks` is given, a keyed operator has a task for each substream, a stateless one for each executor,
    or three with load-aware grouping. A stateless operator's tasks wait in line for the next free executor, so that one
    slow executor delays a batch by one task; the task of a substream waits for the executor that has the substream.

    `limit` is the most records in one batch: a number, "none", or "pace", the rule of the Spark plant: a batch may have
    twice the records of the batch before, or as many as would have lasted ten seconds at its pace if that is more.
    """

    fixed: Duration = "150ms"
    per_task: Duration = "10ms"
    scv: NotNegative = 0.0
    trigger: Duration = 0
    tasks: Count | None = None
    limit: Count | Literal["pace", "none"] = "pace"


class Osg(Spec, frozen=True):
    """OSG's parameters (DABS-Storm §5.2): the precision of its sketches, the time `window` and the `least` records
    between two looks at them (the paper has a number N of records), μ as `tolerance`, and the number of schedulers;
    each upstream executor sends through one of them."""

    epsilon: Share = 0.05
    delta: Share = 0.05
    window: Duration = WINDOW_S
    least: Count = LEAST
    tolerance: NotNegative = TOLERANCE
    schedulers: Count = 1


class OperatorModel(Spec, frozen=True):
    """How one operator serves.

    `queues`: "own" (one FIFO queue for each executor), "shared" (one queue for all), "batches" (micro-batches).
    `grouping` distributes records over executors; by default round robin, or by key for a keyed operator. Load-aware
    grouping reads utilisation every `interval`; "nearest" prefers the process and the node while queues there are
    not much longer than elsewhere; "batch-greedy" assigns a micro-batch as a whole.
    `capacity` bounds each queue; records that overflow are lost.
    `split` "one" sends each record to one of the output streams only, with the selectivities as probabilities.
    `emission` says how the number of output records varies around the selectivity; "bulk" emits `bulk` at a time.
    State is `state_bytes` for each substream, and grows by `state_bytes_per_record`. Each executor needs the share
    `memory` of its node's memory, and a node without it takes no executor. Each record keeps its node's I/O busy for
    `io`, one after the other, before it can be served.
    """

    service: Service = Service()
    executors: Count = 1
    standby: Annotated[int, msgspec.Meta(ge=0)] = 0
    queues: Literal["own", "shared", "batches"] = "own"
    batches: Batches = Batches()
    grouping: Literal["round-robin", "random", "key", "load-aware", "osg", "nearest", "batch-greedy"] | None = None
    interval: Duration = "30s"
    osg: Osg = Osg()
    capacity: Count | None = None
    split: Literal["copy", "one"] = "copy"
    emission: Literal["rounded", "poisson", "bulk"] = "rounded"
    bulk: Count = 1
    state_bytes: NotNegative = 0.0
    state_bytes_per_record: NotNegative = 0.0
    memory: NotNegative = 0.0
    io: Duration = 0


class Bursts(Spec, frozen=True):
    """Two-state Markov modulation (MMPP) with unchanged mean: in bursts the rate is `factor` times the calm one."""

    factor: Annotated[float, msgspec.Meta(ge=1)]
    calm: Duration
    burst: Duration

    def factors(self) -> tuple[float, float]:
        """The factors of the rate in calm and in burst."""
        calm_s, burst_s = positive_seconds(self.calm, "calm"), positive_seconds(self.burst, "burst")
        calm = (calm_s + burst_s) / (calm_s + self.factor * burst_s)
        return calm, calm * self.factor


class Failure(Spec, frozen=True):
    """Executor `executor` of `operator` fails `at`. Another one starts in its place, unless it is back after `down`.

    If no executor has this number then, the one with the nearest number fails.
    """

    at: Duration
    operator: str
    executor: Annotated[int, msgspec.Meta(ge=0)]
    down: Duration | None = None


class Slowdown(Spec, frozen=True):
    """Executor `executor` of `operator` has `speed` times its usual speed from `since` to `until` (or to the end)."""

    operator: str
    executor: Annotated[int, msgspec.Meta(ge=0)]
    speed: Positive
    since: Duration = 0
    until: Duration | None = None

    def applies(self, operators: Collection[str], executor: int, time_s: float) -> bool:
        """Whether it slows down the executor with that number, which serves `operators`, at `time_s`."""
        until_s = math.inf if self.until is None else seconds(self.until)
        is_meant = executor == self.executor and self.operator in operators
        return is_meant and seconds(self.since) <= time_s < until_s


class NodeModel(Spec, frozen=True):
    """A machine: `slots` executors fit on it; more busy ones than `cores` slow each other down."""

    name: str
    slots: Count = 4
    cores: Positive | None = None
    speed: Positive = 1.0


class ClusterModel(Spec, frozen=True):
    """The cost of changes and of distance.

    Starting an executor takes `start` and `warm_up`, activating a standby `activate`, stopping one `stop`. At most
    `starts_at_once` start at the same time, the others wait in line. While it warms up an executor has no work; only if
    no other serves in its pool, it serves at `cold_speed` times its speed. With micro-batches the first batch of an
    executor lasts `first_batch` longer for it, and while executors start or warm up all batches cost
    `cost_while_starting` times as much beside their work.
    Moving substreams takes `move_delay` plus their state over `bandwidth` (bytes/s); meanwhile the `substream`s
    themselves, both `executors`, or the whole `topology` pause. With a `barrier` all executors of the operator do what
    they have, wait for the slowest, and pause until the substreams have moved; with `drain` only the two executors do,
    as StreamSwitch's on Flink. `pause_on_add` and `pause_on_remove` stop the topology when it scales; `restart`, if
    given, for every change except that of a grouping, as Storm does.
    With `restart_loses`, records that wait at the changed operators are lost, unless they can be read again (batches).
    Between micro-batches the new executor loads the state of substreams at the beginning of its next batch.
    A share `odd_share` of executors has speed `odd_speed` instead of 1. Records sent between processes and nodes
    take `process_hop` and `node_hop`, and cost the receiving executor `process_cost` and `node_cost` of work; where
    any executor may take a record (a shared queue, a batch without keys) it takes the mean time over all of them. One
    from another node keeps the receiving node's I/O busy for `node_io` more.
    A record that takes longer than `timeout` counts as late.
    """

    start: Duration = "4s"
    starts_at_once: Count | Literal["all"] = 10
    warm_up: Duration = 0
    cold_speed: Positive = 0.25
    first_batch: Duration = 0
    cost_while_starting: Positive = 1.0
    activate: Duration = 0
    stop: Duration = 0
    move_delay: Duration = "50ms"
    bandwidth: Positive = 1e8
    pause: Literal["substream", "executors", "drain", "barrier", "topology"] = "substream"
    pause_on_add: Duration = 0
    pause_on_remove: Duration = 0
    restart: Duration | None = None
    restart_loses: bool = False
    odd_speed: Positive = 1.0
    odd_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    process_hop: Duration = 0
    node_hop: Duration = 0
    process_cost: Duration = 0
    node_cost: Duration = 0
    node_io: Duration = 0
    timeout: Duration | None = None
    nodes: tuple[NodeModel, ...] = ()
    failures: tuple[Failure, ...] = ()
    slow: tuple[Slowdown, ...] = ()


@dataclass(frozen=True)
class SourceModel:
    """How records enter: `load` is the rate over time, `scv` the variation of the gaps between them (0 regular, 1
    Poisson), `bursts` a modulation of the rate. `weights` are the probabilities of the values that records carry;
    every `rotate_every_s` they move on by `rotate_by` values, so that other keys become hot. With `batch_s` records
    reach the operators in batches of this length: each waits for the next batch to begin, and then for its end."""

    load: Shape = field(default_factory=lambda: Constant(100.0))
    scv: float = 1.0
    bursts: Bursts | None = None
    weights: np.ndarray | None = None
    rotate_every_s: float = 0.0
    rotate_by: int = 1
    batch_s: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scv) and self.scv >= 0):
            raise ConfigError(f"arrival scv {self.scv!r} must be a number >= 0 (0 regular, 1 Poisson)")
        if self.rotate_every_s < 0:
            raise ConfigError(f"rotate_every {self.rotate_every_s!r} must not be negative")


@dataclass(frozen=True)
class SimModel:
    """A topology with everything that the simulator has to know about it; what is left out has its default.

    `values` holds, by operator, the weights of the values of the records that it writes; `costs` how many times as long
    as usual its records take, over time.
    """

    topology: Topology
    sources: dict[str, SourceModel] = field(default_factory=dict)
    operators: dict[str, OperatorModel] = field(default_factory=dict)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    costs: dict[OperatorName, Shape] = field(default_factory=dict)
    cluster: ClusterModel = field(default_factory=ClusterModel)
    resolution_s: float = 0.1

    def __post_init__(self) -> None:
        self.topology.operators.check((*self.operators, *self.values, *self.costs))
        for name in self.sources:
            if name not in self.topology.sources:
                raise ConfigError(f"topology {self.topology.name!r} has no source {name!r}")
        for failure in self.cluster.failures:
            self.topology.operators.check([failure.operator])
            seconds(failure.at, "failure time")
        for slow in self.cluster.slow:
            self.topology.operators.check([slow.operator])
            if slow.until is not None and seconds(slow.until, "until") <= seconds(slow.since, "since"):
                raise ConfigError(
                    f"executor {slow.executor} of {slow.operator!r} is slow since {slow.since!r} until {slow.until!r}: "
                    "give a later end"
                )
        for name in self.topology.operators:
            self._check_operator(name)
        if len({node.name for node in self.cluster.nodes}) < len(self.cluster.nodes):
            raise ConfigError("two nodes have the same name: rename one")

    def operator(self, name: str) -> OperatorModel:
        return self.operators.get(name, OperatorModel())

    def memory(self, operators: Iterable[str]) -> float:
        """The share of a node's memory that an executor of `operators` needs."""
        return sum(self.operator(name).memory for name in operators)

    def source(self, name: str) -> SourceModel:
        return self.sources.get(name, SourceModel())

    def check_grouping(self, name: str, grouping: str) -> None:
        """Refuse, with the reason, a grouping that cannot be simulated for operator `name`."""
        check(self.topology, name, grouping)
        if grouping == BATCH_GREEDY and self.operator(name).queues != "batches":
            raise ConfigError(
                f"operator {name!r}: grouping {grouping!r} assigns whole micro-batches: give it queues = 'batches'"
            )
        if grouping == KEY and self.topology.operators[name].keyed and self.cluster.restart_loses:
            raise ConfigError(
                f"operator {name!r} is grouped by key, whose records are never lost: restart_loses needs operators "
                "whose records may go to any executor"
            )

    def _check_operator(self, name: str) -> None:
        model, operator = self.operator(name), self.topology.operators[name]
        if operator.keyed and model.queues == "shared":
            raise ConfigError(f"operator {name!r} is keyed, so its queues cannot be 'shared': use 'own' or 'batches'")
        grouping = model.grouping or (KEY if operator.keyed else None)
        if grouping is not None:
            self.check_grouping(name, grouping)
        self._check_resources(name, model)
        total = sum(stream.selectivity for stream in self.topology.out_of(name))
        if model.split == "one" and total > 1 + 1e-9:
            raise ConfigError(
                f"operator {name!r}: with split = 'one' selectivities are probabilities, but add up to {total:g} > 1"
            )

    def _check_resources(self, name: str, model: OperatorModel) -> None:
        if model.memory > 1:
            raise ConfigError(
                f"operator {name!r}: memory {model.memory:g} is a share of a node's memory: give at most 1"
            )
        if (model.memory or seconds(model.io, "io")) and not self.cluster.nodes:
            raise ConfigError(f"operator {name!r} has memory or io, which belong to a node: give the cluster nodes")
