"""Scaled run: an application on the shared cluster while executors come and go and substreams move."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drain import drain
from pyspark.sql import SparkSession

from rheostat.decision import Decision, Move, Scale, Transfer
from rheostat.loop.options import LoopOptions
from rheostat.names import PoolName
from rheostat.pipeline import start
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy
from rheostat.topology import Topology

PARTS = 12
Rows = list[dict[str, Any]]


class Restless(Policy):
    """A second executor for a keyed and a stateless pool; then another substream for it; then the first ones go."""

    def decide(self, observation: Observation) -> Sequence[Decision]:
        plan = observation.plan
        if observation.settling:
            return observation.hold_all("wait for the action under way")
        if alone := [name for name in changing(plan) if plan.pools[name].executors == (0,)]:
            return [Scale(pool=name, executors=2, reason="test") for name in alone]
        for operator, homes in list(plan.assignment.items())[:1]:
            if plan.pool(operator).size == 2 and homes.count(0) == homes.count(1):
                return [Move(operator=operator, transfers=(Transfer((homes.index(0),), 0, 1),), reason="test")]
        pairs = [name for name in changing(plan) if plan.pools[name].size == 2]
        return [Scale(pool=name, executors=1, leaving=(0,), reason="test") for name in pairs]


def changing(plan: Plan) -> list[PoolName]:
    """The pool of the first keyed operator, and the first without one."""
    keyed = [plan.pool_of[name] for name in plan.assignment]
    return [*keyed[:1], *[name for name in plan.pools if name not in keyed][:1]]


def scaled_run(
    spark: SparkSession,
    topology: Topology,
    lines: Sequence[dict[str, Any] | str],
    folder: Path,
    eventually: Callable[..., Any],
    shared: Sequence[Sequence[str]] = (),
    last: Sequence[dict[str, Any]] = (),
) -> Mapping[str, Rows]:
    """The results by name. `folder / "input"`, which the topology reads, gets the lines in parts, the first half of
    them while the executors change. What comes `last` is written line by line, each when all before it is done."""
    inbox = folder / "input"
    inbox.mkdir(exist_ok=True)
    (inbox / "empty.json").touch()
    parts = [lines[len(lines) * n // PARTS : len(lines) * (n + 1) // PARTS] for n in range(PARTS)]
    plan = Plan.initial(topology, shared=shared)
    options = {"directory": folder / "run", "on": spark, "plan": plan, "loop": LoopOptions("500ms")}
    with start(topology, sla="30s/60s", policy=Restless, **options) as pipeline:
        fed = 0

        def changed() -> bool | None:
            nonlocal fed
            if fed < PARTS // 2 and fed <= pipeline.plan.revision:
                _write(inbox, fed, parts[fed])
                fed += 1
            pipeline.wait(0)  # raises the error if a query has failed
            done = all(pipeline.plan.pools[name].executors == (1,) for name in changing(plan))
            return (done and pipeline.plant.reached(pipeline.plan) == plan.pools.keys()) or None

        eventually(changed, "all changes of executors", 300)
        for number in range(fed, PARTS):
            _write(inbox, number, parts[number])
        drain(pipeline.runtime)
        for number, line in enumerate(last, PARTS):
            _write(inbox, number, [line])
            drain(pipeline.runtime)
        results = [name for query in pipeline.runtime.queries.values() for name in query.unit.results]
        return {name: [row.asDict() for row in pipeline.runtime.results(name).collect()] for name in results}


def _write(inbox: Path, number: int, lines: Sequence[dict[str, Any] | str]) -> None:
    now = datetime.now(UTC).isoformat()
    texts = [json.dumps({"entered": now, **line}) if isinstance(line, dict) else line for line in lines]
    draft = inbox / f".{number}"
    draft.write_text("\n".join(texts) + "\n", encoding="utf-8")
    draft.rename(inbox / f"{number:04}.json")


def reasons(rejected: Rows) -> list[str]:
    return sorted(row["reason"] for row in rejected)
