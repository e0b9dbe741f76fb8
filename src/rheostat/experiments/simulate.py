"""Simulation: one run of the control loop on the simulated plant, for one scenario, policy and seed."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from rheostat.experiments.feasibility import why_it_cannot_be_met
from rheostat.experiments.prediction_errors import PredictionErrorTracker
from rheostat.experiments.result import Result, figures
from rheostat.experiments.scenario import Scenario
from rheostat.experiments.time_series import SeriesRecorder
from rheostat.journal import Journal, NullJournal
from rheostat.loop.controller import Controller, Listener
from rheostat.loop.turn import Ruling, Turn
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.sim.cluster.cluster import Cluster
from rheostat.sim.observe.scoreboard import Scoreboard
from rheostat.sim.plant import SimPlant, initial_plan

Progress = Callable[[float], None]
"""Called with the simulated seconds that have passed."""

Watcher = Callable[[Cluster], None]
"""May schedule observations of the cluster on its agenda; must not change anything."""


def simulate(
    scenario: Scenario,
    policy: str | type[Policy] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    journal: Journal | NullJournal | None = None,
    progress: Progress | None = None,
    listeners: Sequence[Listener] = (),
    watchers: Sequence[Watcher] = (),
    series: bool = False,
    pace: float | None = None,
    started: Callable[[Controller], None] | None = None,
) -> Result:
    """Run `scenario` under `policy` (by name or class, by default the scenario's own) and return the result.

    The same scenario, policy and seed always give the same result. `listeners` are called after every turn of the
    loop, `watchers` once with the cluster before the run, `started` with the controller. With `series` the result has a
    point for each turn. With `pace` it takes a second for so many simulated ones; otherwise as long as it takes.
    """
    name = policy or scenario.policy
    chosen = dict(options) if options is not None else (scenario.policy_options if name == scenario.policy else {})
    plant = SimPlant(scenario.model, np.random.default_rng(seed), pace=pace)
    board = Scoreboard(plant.cluster, scenario.goal.slas)
    for watcher in watchers:
        watcher(plant.cluster)
    tally = _Tally(progress)
    made = make_policy(name, scenario.goal, chosen)
    prediction = PredictionErrorTracker(scenario.model, made)
    recorder = SeriesRecorder(plant.cluster, board, scenario.goal)
    controller = Controller(
        plant,
        made,
        scenario.goal,
        journal,
        scenario.loop,
        plan=initial_plan(scenario.model),
        listeners=[tally, prediction, *([recorder] if series else []), *listeners],
    )
    for change in scenario.budget_changes:
        plant.cluster.timers.at(change.at_s, partial(controller.change_budget, change.budget))
    if started is not None:
        started(controller)
    controller.run(until_s=scenario.duration_s)
    plant.cluster.advance(scenario.duration_s)
    return Result(
        scenario=scenario.name,
        policy=made.name,
        seed=seed,
        decisions=dict(tally.decisions),
        refused=tally.refused,
        prediction_errors=prediction.result(),
        cannot_be_met=why_it_cannot_be_met(scenario),
        series=tuple(recorder.points) if series else msgspec.UNSET,
        **figures(plant.cluster, board, scenario.goal, scenario.duration_s),  # type: ignore[arg-type]
    )


class _Tally:
    """Counts decisions and reports progress."""

    def __init__(self, progress: Progress | None) -> None:
        self.decisions: Counter[str] = Counter()
        self.refused = 0
        self._progress = progress

    def __call__(self, turn: Turn) -> None:
        for verdict in turn.verdicts:
            if verdict.ruling in (Ruling.ACCEPTED, Ruling.HELD):
                self.decisions[verdict.decision.kind] += 1
            else:
                self.refused += 1
        if self._progress is not None:
            self._progress(turn.time_s)
