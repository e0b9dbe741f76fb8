"""Table builder: from a model to the tables of the event loop."""

import math

import numpy as np

from rheostat.duration import positive_seconds, seconds
from rheostat.errors import ConfigError
from rheostat.grouping import Hashes, sketch_hashes
from rheostat.names import OperatorName
from rheostat.sim.engine.draw import alias_table
from rheostat.sim.engine.random_numbers import seed
from rheostat.sim.engine.service.batch_limit import LONGEST_S
from rheostat.sim.engine.tables import codes
from rheostat.sim.engine.tables.memory import Sizes, allocate, with_memory_for_grouping
from rheostat.sim.engine.tables.state import EngineState
from rheostat.sim.model import OperatorModel, Service, SimModel

_QUEUES = {"own": codes.OWN_QUEUES, "shared": codes.SHARED_QUEUE, "batches": codes.MICRO_BATCH}
_EMISSIONS = {"rounded": codes.ROUNDED, "poisson": codes.POISSON, "bulk": codes.BULK}
GROUPINGS = {
    "round-robin": codes.ROUND_ROBIN,
    "random": codes.RANDOM,
    "key": codes.BY_VALUE,
    "load-aware": codes.LOAD_AWARE,
    "osg": codes.OSG,
    "nearest": codes.NEAREST,
    "batch-greedy": codes.BATCH_GREEDY,
}
CHUNK_SLOTS = 64


def build(model: SimModel, rng: np.random.Generator) -> EngineState:
    """The tables for `model`, without executors."""
    topology = model.topology
    weights = _value_weights(model)
    operators = list(topology.operators)
    costs = [model.operator(name).service.cost_by_value for name in operators]
    hashes = _hashes(model, rng)
    state = allocate(
        Sizes(
            operators=len(operators),
            sources=len(topology.sources),
            edges=len(topology.streams),
            substreams=sum(operator.substream_count for operator in topology.operators.values()),
            nodes=len(model.cluster.nodes),
            distributions=len(weights),
            aliases=sum(len(table) for table in weights.values()),
            costs=sum(len(table) for table in costs),
            hashes=sum(each.rows for each in hashes),
            sketch_cells=max(each.rows * each.columns for each in hashes),
            schedulers=max(model.operator(name).osg.schedulers for name in operators),
            slots=CHUNK_SLOTS,
        )
    )
    seed(state, rng)
    _set_values(state, list(weights.values()))
    _set_streams(state, model, {name: index for index, name in enumerate(weights)})
    _set_operators(state, model)
    state = _set_groupings(state, model, hashes)
    _set_sources(state, model, {name: index for index, name in enumerate(weights)}, rng)
    _set_cluster(state, model)
    return state


def _value_weights(model: SimModel) -> dict[str, np.ndarray]:
    """Weights of values, by the source or operator that draws from them."""
    drawn = {name: source.weights for name, source in model.sources.items()} | dict(model.values)
    return {name: np.asarray(weights, dtype=float) for name, weights in drawn.items() if weights is not None}


def _set_values(state: EngineState, weights: list[np.ndarray]) -> None:
    start = 0
    for distribution, table in enumerate(weights):
        it = state.values[distribution]
        it.start, it.length = start, len(table)
        set_weights(state, distribution, table)
        start += len(table)


def set_weights(state: EngineState, distribution: int, weights: np.ndarray) -> None:
    """From now on draw values by other weights (as many as before)."""
    it = state.values[distribution]
    cells = slice(it.start, it.start + it.length)
    state.alias.probability[cells], state.alias.other[cells] = alias_table(weights)


def _set_streams(state: EngineState, model: SimModel, distributions: dict[str, int]) -> None:
    topology = model.topology
    index = {name: position for position, name in enumerate(topology.operators)}
    edge = 0
    for position, name in enumerate([*topology.operators, *topology.sources]):
        producer = state.producers[position]
        producer.first = edge
        serving = model.operator(name) if name in index else OperatorModel()
        producer.exclusive = serving.split == "one"
        for stream in topology.out_of(name):
            it = state.edges[edge]
            it.target, it.selectivity = index[stream.consumer], stream.selectivity
            it.emission, it.bulk = _EMISSIONS[serving.emission], serving.bulk
            if name in index:
                it.value = distributions.get(name, codes.NONE)
            else:
                it.batch_s = model.source(name).batch_s
            it.most = _most_children(serving, stream.selectivity)
            producer.fanout += it.most
            edge += 1
        producer.last = edge


def _most_children(serving: OperatorModel, selectivity: float) -> int:
    if serving.split == "one":
        return 1
    if serving.emission == "poisson":
        return _poisson_bound(selectivity)
    bulk = serving.bulk if serving.emission == "bulk" else 1
    return math.ceil(selectivity / bulk) * bulk


def _poisson_bound(mean: float) -> int:
    """More children than this have a negligible probability; the bound limits the memory that an event needs."""
    return int(mean + 12.0 * math.sqrt(mean) + 20.0)


def _set_operators(state: EngineState, model: SimModel) -> None:
    substream = cost = 0
    for position, (name, operator) in enumerate(model.topology.operators.items()):
        serving = model.operator(name)
        it = state.operators[position]
        it.mode = _QUEUES[serving.queues]
        it.first_substream, it.substreams = substream, operator.substream_count
        it.capacity = serving.capacity or codes.UNBOUNDED
        it.batch_fixed_s = seconds(serving.batches.fixed, "batch fixed cost")
        it.batch_task_s = seconds(serving.batches.per_task, "batch cost per task")
        it.batch_spread = math.sqrt(math.log1p(serving.batches.scv))
        it.batch_trigger_s = seconds(serving.batches.trigger, "trigger")
        it.batch_tasks = serving.batches.tasks or 0
        _set_batch_limit(it, serving.batches.limit)
        it.io_s = seconds(serving.io, "io")
        it.service_kind, it.service_a, it.service_b = _service(serving.service)
        if serving.service.cost_by_value:
            it.cost_start = cost
            factors = serving.service.cost_by_value
            state.cost.factor[cost : cost + len(factors)] = factors
            _check_costs_cover_values(model, name, len(factors))
            cost += len(factors)
        substream += operator.substream_count


def _set_batch_limit(it: np.record, limit: int | str) -> None:
    if limit == "pace":
        it.batch_longest_s = LONGEST_S
    elif limit != "none":
        it.batch_limit = limit


def _hashes(model: SimModel, rng: np.random.Generator) -> list[Hashes]:
    """Each operator's hashes for OSG, whether it uses OSG or not, from a generator of their own."""
    own = rng.spawn(1)[0]
    settings = [model.operator(name).osg for name in model.topology.operators]
    return [sketch_hashes(osg.epsilon, osg.delta, own) for osg in settings]


def _set_groupings(state: EngineState, model: SimModel, hashes: list[Hashes]) -> EngineState:
    first = 0
    for position, (name, each) in enumerate(zip(model.topology.operators, hashes, strict=True)):
        serving, it = model.operator(name), state.operators[position]
        it.sketch_rows, it.sketch_columns, it.first_hash = each.rows, each.columns, first
        it.sketch_window_s = seconds(serving.osg.window, "OSG window")
        it.sketch_least, it.sketch_tolerance = serving.osg.least, serving.osg.tolerance
        it.schedulers, it.interval_s = serving.osg.schedulers, positive_seconds(serving.interval, "interval")
        state.hashes.factor[first : first + each.rows] = each.factors
        state.hashes.offset[first : first + each.rows] = each.offsets
        state = with_grouping(state, position, grouping_code(model, name, serving.grouping))
        first += each.rows
    return state


def grouping_code(model: SimModel, operator: OperatorName, grouping: str | None) -> int:
    """The code of a grouping by its name; None is by key for a keyed operator, else round robin."""
    if model.topology.operators[operator].keyed and grouping in (None, "key"):
        return codes.BY_KEY
    return GROUPINGS[grouping or "round-robin"]


def with_grouping(state: EngineState, operator: int, code: int) -> EngineState:
    """The state after a change of the grouping of `operator`, with room for what the new grouping remembers."""
    state.operators[operator].grouping = code
    if code in (codes.LOAD_AWARE, codes.OSG, codes.BATCH_GREEDY):
        return with_memory_for_grouping(state, operator)
    return state


def _service(service: Service) -> tuple[int, float, float]:
    """The distribution's code and its two parameters."""
    mean = service.mean_s
    if service.distribution == "fixed":
        return codes.FIXED, mean, 0.0
    if service.distribution == "exponential":
        return codes.EXPONENTIAL, mean, 0.0
    if service.distribution == "uniform":
        return codes.UNIFORM, mean * (1 - service.spread), mean * (1 + service.spread)
    variance = math.log1p(service.scv)
    return codes.LOGNORMAL, math.log(mean) - variance / 2, math.sqrt(variance)


def _check_costs_cover_values(model: SimModel, name: str, costs: int) -> None:
    largest = max((len(weights) for weights in _value_weights(model).values()), default=1)
    if costs < largest:
        raise ConfigError(
            f"operator {name!r}: cost_by_value has {costs} entries, but values go up to {largest - 1}: "
            f"give {largest} of them"
        )


def _set_sources(state: EngineState, model: SimModel, distributions: dict[str, int], rng: np.random.Generator) -> None:
    for position, name in enumerate(model.topology.sources):
        source = model.source(name)
        it = state.sources[position]
        it.scv = source.scv
        it.value = distributions.get(name, codes.NONE)
        if source.bursts is not None:
            it.calm_factor, it.burst_factor = source.bursts.factors()
            it.calm_s, it.burst_s = positive_seconds(source.bursts.calm), positive_seconds(source.bursts.burst)
            it.bursting = rng.random() < it.burst_s / (it.calm_s + it.burst_s)
            it.until = (it.burst_s if it.bursting else it.calm_s) * rng.exponential()


def _set_cluster(state: EngineState, model: SimModel) -> None:
    cluster, world = model.cluster, state.world[0]
    world.process_hop_s = seconds(cluster.process_hop, "process hop")
    world.node_hop_s = seconds(cluster.node_hop, "node hop")
    world.longest_hop_s = max(world.process_hop_s, world.node_hop_s)
    world.process_cost_s = seconds(cluster.process_cost, "process cost")
    world.node_cost_s = seconds(cluster.node_cost, "node cost")
    world.node_io_s = seconds(cluster.node_io, "node I/O")
    if cluster.timeout is not None:
        world.timeout_s = positive_seconds(cluster.timeout, "timeout")
    for position, node in enumerate(cluster.nodes):
        state.nodes[position].cores = node.cores or np.inf
