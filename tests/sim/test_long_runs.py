"""What only shows in long runs: Little's law, memory that does not grow, and no limit but the one that is told."""

import math

import pytest
from plants import count_in_system, exponential, keyed, plant, row

from rheostat.decision import Move, Transfer
from rheostat.errors import PlantError
from rheostat.load import Step
from rheostat.plan import Plan
from rheostat.sim.cluster import simulation
from rheostat.sim.model import ClusterModel
from rheostat.topology import Operator, Source, Topology

DIAMOND = Topology(
    "diamond",
    [
        Source("in"),
        Operator("a", inputs="in", selectivity=1.5),
        Operator("b", inputs="a", key="k", substreams=4),
        Operator("c", inputs=("a", "c"), selectivity=0.4),
        Operator("d", inputs=("b", "c")),
    ],
)


def test_the_number_in_the_system_is_rate_times_latency():
    """Little's law, exactly: over a run that ends empty, the integral of the number is the sum of the latencies."""
    models = {
        "a": exponential(0.01, executors=2, queues="shared"),
        "b": exponential(0.02, executors=3),
        "c": exponential(0.02, executors=2, grouping="random"),
        "d": exponential(0.005, queues="batches", executors=2),
    }
    it = plant(DIAMOND, models, rate=Step([(0, 50.0), (20.0, 0.0)]), cluster=ClusterModel(move_delay=0.5))
    plan = Plan.initial(DIAMOND, {"a": 2, "b": 3, "c": 2, "d": 2})
    areas = dict.fromkeys(DIAMOND.operators, 0.0)
    world, moved = it.cluster.state.world, False
    while not (it.cluster.now_s > 20.0 and world[0].entered == world[0].left):
        now_s = it.cluster.now_s
        there = {name: int(row(it, name).arrived - row(it, name).completed) for name in areas}
        if now_s > 5 and not moved:
            moved = True
            it.apply(plan.after(Move(operator="b", reason="test", transfers=(Transfer((0,), 0, 2),))))
        event_s = float(it.cluster.state.heap[0].time) if world[0].events else math.inf
        upcoming = [event_s, it.cluster.timers.next_time(), it.cluster.input_rates.known_until_s]
        it.cluster.advance(min(time_s for time_s in upcoming if time_s > now_s))
        for name, count in there.items():
            areas[name] += count * (it.cluster.now_s - now_s)
    for name, area in areas.items():
        assert area == pytest.approx(float(row(it, name).latency_sum)), name
    assert sum(count_in_system(it).values()) == 0


def test_memory_does_not_grow_with_the_length_of_a_run():
    it = plant(DIAMOND, exponential(0.002, executors=3), rate=100.0, cluster=ClusterModel(move_delay=0.01))
    plan = Plan.initial(DIAMOND, 3)
    sizes = []
    for turn in range(200):
        it.cluster.advance(turn * 10.0 + 10.0)
        source, target = (0, 2) if turn % 2 == 0 else (2, 0)
        plan = plan.after(Move(operator="b", reason="test", transfers=(Transfer((0,), source, target),)))
        it.apply(plan)
        tables = [len(table) for table in it.cluster.state]
        sizes.append((tables, len(it.cluster.timers._entries) <= 3, it.cluster.state.world[0].events < 100))
    assert all(size == sizes[20] for size in sizes[20:])
    assert it.cluster.state.world[0].entered > 190_000


def test_tables_grow_with_the_backlog_and_lose_nothing_by_it():
    it = plant(keyed(4), exponential(1.0), rate=Step([(0, 1000.0), (20.0, 0.0)]))
    it.cluster.advance(21.0)
    assert len(it.cluster.state.tuples) >= 16384
    assert count_in_system(it)["op"] == row(it).arrived - row(it).completed > 19_000
    assert it.cluster.state.world[0].disorder == 0


def test_more_records_than_can_be_simulated_at_once_are_refused(monkeypatch):
    monkeypatch.setattr(simulation, "MOST_RECORDS", 4096)
    it = plant(keyed(4), exponential(1.0), rate=1000.0)
    with pytest.raises(PlantError, match=r"4,096 records are in the system after 4\.\d* s.*bound the queues"):
        it.cluster.advance(100.0)
