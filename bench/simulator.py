"""Simulator benchmark: speed of the simulator, and what it depends on.

Run with `python -m bench.simulator`. The aims: 3 million records/s through one M/M/4 operator, 1 million through a
four-operator keyed topology under control, on one core; cost linear in records and logarithmic in executors; memory
independent of the length of the run. Times are processor time of this process, the best of several runs, since other
work on the machine can only slow it down.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import ciw
import numpy as np
import simpy

from rheostat.load import Constant, Sine
from rheostat.load.skew import zipf
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies.registry import make_policy
from rheostat.sim.model import OperatorModel, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant, initial_plan
from rheostat.sla import Goal
from rheostat.topology import Operator, Source, Topology

SERVERS, LOAD = 4, 0.8
ONE = Topology("one", [Source("in"), Operator("op", inputs="in")])
KEYED = Topology(
    "keyed",
    [
        Source("in"),
        Operator("parse", inputs="in"),
        Operator("count", inputs="parse", key="word", substreams=64),
        Operator("join", inputs="count", key="word", substreams=64),
        Operator("store", inputs="join"),
    ],
)


def cpu_s(work: Callable[[], object]) -> float:
    start_s = time.process_time()
    work()
    return time.process_time() - start_s


def mmk(servers: int) -> SimPlant:
    """M/M/k with a shared queue; the unit of time is the mean service time."""
    model = OperatorModel(service=Service(mean=1.0), executors=servers, queues="shared")
    source = SourceModel(Constant(LOAD * servers))
    return SimPlant(SimModel(ONE, {"in": source}, {"op": model}, resolution_s=1000.0), np.random.default_rng(1))


def mmk_rate(servers: int, records: int, repeats: int) -> float:
    """Records per second of processor time through M/M/k."""

    def once() -> float:
        plant = mmk(servers)
        seconds = cpu_s(lambda: plant.cluster.advance(records / LOAD / servers))
        return int(plant.cluster.state.operators[0].completed) / seconds

    return max(once() for _ in range(repeats))


def keyed_plant(rate: float) -> SimPlant:
    """Four operators of four to eight executors each, under a load that varies by half."""
    models = {name: OperatorModel(service=Service(mean=3.5 / rate), executors=6) for name in KEYED.operators}
    source = SourceModel(Sine(base=rate, amplitude=rate / 2, period="5m"), weights=zipf(10_000, 0.3))
    return SimPlant(SimModel(KEYED, {"in": source}, models), np.random.default_rng(1))


def under_control(rate: float, records: int) -> tuple[float, float, int]:
    """Records and operator visits per second of processor time with the loop, and the number of plan changes."""
    plant = keyed_plant(rate)
    goal = Goal(KEYED)
    policy = make_policy("threshold", goal, {"high": 0.85, "low": 0.4})
    controller = Controller(plant, policy, goal, options=LoopOptions("10s"), plan=initial_plan(plant.model))
    seconds = cpu_s(lambda: controller.run(for_=records / rate))
    state = plant.cluster.state
    visits = int(state.operators.completed.sum())
    return int(state.world[0].entered) / seconds, visits / seconds, controller.plan.revision


def without_loop(rate: float, records: int) -> float:
    """Records per second of processor time through the same topology without the loop."""
    plant = keyed_plant(rate)
    return records / cpu_s(lambda: plant.cluster.advance(records / rate))


def ciw_rate(records: int) -> float:
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(LOAD * SERVERS)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[SERVERS],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    return records / cpu_s(lambda: simulation.simulate_until_max_time(records / LOAD / SERVERS))


def simpy_rate(records: int) -> float:
    chance = random.Random(1)
    environment = simpy.Environment()
    servers = simpy.Resource(environment, SERVERS)

    def customer():  # type: ignore[no-untyped-def]
        with servers.request() as request:
            yield request
            yield environment.timeout(chance.expovariate(1.0))

    def arrivals():  # type: ignore[no-untyped-def]
        for _ in range(records):
            yield environment.timeout(chance.expovariate(LOAD * SERVERS))
            environment.process(customer())

    environment.process(arrivals())
    return records / cpu_s(environment.run)


def compile_s() -> float:
    """Processor time to compile everything, in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", "from bench.simulator import mmk; mmk(4).cluster.advance(1.0)"]
        subprocess.run(command, check=True, env={**os.environ, "NUMBA_CACHE_DIR": folder})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table_bytes(records: int) -> int:
    """Memory of all tables after a run."""
    plant = mmk(SERVERS)
    plant.cluster.advance(records / LOAD / SERVERS)
    return sum(table.nbytes for table in plant.cluster.state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()

    mmk(SERVERS).cluster.advance(1.0)
    rate = mmk_rate(SERVERS, arguments.records, arguments.repeats)
    print(f"M/M/{SERVERS}: {rate / 1e6:.2f} million records/s (aim 3)")
    for load in (1_000.0, 10_000.0):
        records, visits, changes = max(under_control(load, arguments.records // 4) for _ in range(arguments.repeats))
        alone = max(without_loop(load, arguments.records // 4) for _ in range(arguments.repeats))
        print(
            f"four keyed operators under control at {load:,.0f}/s: {records / 1e6:.2f} million records/s (aim 1), ",
            end="",
        )
        print(f"{visits / 1e6:.2f} million visits/s, {changes} changes; without the loop {alone / 1e6:.2f}")

    print("\nM/M/4 by records         million/s   bytes of tables")
    for count in (arguments.records // 20, arguments.records // 4, arguments.records, arguments.records * 4):
        print(f"{count:>16,} {mmk_rate(SERVERS, count, arguments.repeats) / 1e6:>15.2f} {table_bytes(count):>17,}")
    print("\nM/M/k by executors       million/s")
    for servers in (1, 10, 100, 1000):
        print(f"{servers:>16,} {mmk_rate(servers, arguments.records, arguments.repeats) / 1e6:>15.2f}")

    print("\nthe same M/M/4 in other simulators")
    for name, other in (("simpy", simpy_rate(20_000)), ("ciw", ciw_rate(20_000))):
        print(f"{name:>16} {other:>12,.0f} records/s, {rate / other:,.0f} times slower")
    print(f"\ncompilation, once after each change of the source code: {compile_s():.1f} s including imports")


if __name__ == "__main__":
    main()
