"""`rheostat demo`: five minutes that show what Rheostat does."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.live import Live

from rheostat.cli.history import History
from rheostat.cli.picture import draw
from rheostat.cli.simulate import latency, percent
from rheostat.cli.view import View
from rheostat.load import Constant, Progressive, Spike
from rheostat.load.skew import zipf
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies.registry import make_policy
from rheostat.sim.model import Batches, ClusterModel, OperatorModel, Service, SimModel, SourceModel
from rheostat.sim.plant import SimPlant, initial_plan
from rheostat.sim.score import Scoreboard
from rheostat.sla import SLA, Budget, Goal
from rheostat.topology import Operator, Source, Topology

DURATION_S = 180.0


def demo(
    policy: Annotated[str, typer.Option(help="The policy that controls.")] = "threshold",
    picture: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("rheostat-demo.png"),
) -> None:
    """Word count under a load that rises, spikes and falls, on the simulated cluster."""
    goal = Goal(_word_count(), (SLA("3s", "10s"),), Budget(total=12))
    plant = SimPlant(_model(goal.topology), np.random.default_rng(1))
    board = Scoreboard(plant.cluster, goal.slas)
    history = History()
    view = View("word count, simulated micro-batches", history, goal.end_to_end)
    console = Console()
    with Live(view, console=console, refresh_per_second=8) as live:
        controller = Controller(
            plant,
            make_policy(policy, goal),
            goal,
            options=LoopOptions("1s"),
            plan=initial_plan(plant.model),
            listeners=[history, lambda period: live.refresh()],
        )
        controller.run(until_s=DURATION_S)
    _summarise(console, plant, board, goal, picture, history)


def _word_count() -> Topology:
    return Topology(
        "word count",
        [
            Source("sentences"),
            Operator("split", inputs="sentences", selectivity=5),
            Operator("count", inputs="split", key="word", substreams=16),
        ],
    )


def _model(topology: Topology) -> SimModel:
    load = Progressive(100, 400, "30s", "60s", "40s", start="20s") + Spike(0, 1, "75s", "5s") + Constant(0)
    batches = Batches(fixed="150ms", per_task="10ms")
    return SimModel(
        topology,
        sources={"sentences": SourceModel(load=load)},
        values={"split": zipf(1000, 0.8)},
        operators={
            "split": OperatorModel(
                service=Service(mean="4ms", distribution="fixed"), queues="batches", batches=batches, executors=1
            ),
            "count": OperatorModel(
                service=Service(mean="1ms", distribution="fixed"), queues="batches", batches=batches, executors=1
            ),
        },
        cluster=ClusterModel(start="3s", warm_up="1s"),
    )


def _summarise(
    console: Console, plant: SimPlant, board: Scoreboard, goal: Goal, picture: Path, history: History
) -> None:
    world = plant.cluster.state.world[0]
    spent_s = sum(plant.cluster.fleet.seconds.values())
    peak = max(sum(moment.executors.values()) for moment in history.moments)
    console.print(f"success rate of {goal.end_to_end}: {percent(board.success[goal.slas[0]].mean())}")
    console.print(f"mean latency {latency(float(world.latency_sum / world.left))}, nothing lost: {world.lost == 0}")
    console.print(
        f"executor-seconds: {spent_s:,.0f}, against {peak * DURATION_S:,.0f} for {peak} executors all the time "
        f"({percent(1 - spent_s / (peak * DURATION_S))} saved)"
    )
    draw(history, goal.end_to_end, "Rheostat demo", picture)
    console.print(f"picture: {picture}")
