"""Hand-made observations of a chain of operators for tests of DRS: rates in, decisions out."""

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.decision import Scale
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import Batch, OperatorState, Snapshot
from rheostat.topology import Operator, Source, Topology

AS_PRINTED = {
    "arrivals": "measured",
    "margin": 0,
    "reallocation_cost": 0,
    "smoothing": "none",
    "model": "mmk",
    "keep": 0,
}
"""DRS as the paper has it, without what makes it fit for use."""


def chain(*names):
    parts = [Operator(name, inputs=before) for before, name in zip(("in", *names), names, strict=False)]
    return Topology("chain", [Source("in"), *parts])


def goal(topology, latency=None, total=None, **budget):
    slas = () if latency is None else (SLA(latency),)
    return Goal(topology, slas, Budget(total, **budget))


def observe(
    topology,
    rates,
    plan,
    *,
    time_s=10.0,
    latency_s=None,
    external_rate=None,
    settling=(),
    interval_s=1.0,
    batches=None,
    pools=None,
    budget=None,
    capabilities=None,
    **more,
):
    """`rates` holds λ and μ by operator; `plan` the executors by operator, or a plan."""
    measured = {
        name: OperatorMeasures(arrival_rate=a, completion_rate=a, service_rate=m, queued=0.0, **more)
        for name, (a, m) in rates.items()
    }
    states = tuple(OperatorState(name, batch=(batches or {}).get(name)) for name in rates)
    external = next(iter(rates.values()))[0] if external_rate is None else external_rate
    plan = plan if isinstance(plan, Plan) else Plan.initial(topology, plan)
    measures = Measures(interval_s, measured, latency_s, external)
    offered = capabilities or Capabilities()
    return Observation(Snapshot(time_s, states), measures, plan, frozenset(settling), budget or Budget(), offered)


def policy_for(wanted, name="drs", **options):
    return make_policy(name, wanted, {**AS_PRINTED, **options})


def decide(wanted, rates, plan, *, options=None, **observed):
    return policy_for(wanted, **(options or {})).decide(
        observe(wanted.topology, rates, plan, budget=wanted.budget, **observed)
    )


def sizes(decisions):
    """The executors that each operator is predicted to have, in order."""
    return tuple(decision.predicted.executors for decision in decisions)


def scaled(decisions):
    return {decision.pool: decision.executors for decision in decisions if isinstance(decision, Scale)}


def later(observation, seconds, **changes):
    """The same observation, so many seconds later."""
    snapshot = msgspec.structs.replace(observation.snapshot, time_s=observation.snapshot.time_s + seconds)
    return msgspec.structs.replace(observation, snapshot=snapshot, **changes)


def acted(observation, decisions, seconds):
    """What is seen after `decisions` were done at once."""
    plan = observation.plan
    for decision in decisions:
        plan = plan.after(decision)
    return later(observation, seconds, plan=plan)


def batch(count, cost_s, tasks=2, work_s=0.0):
    """Counters after `count` batches that cost so much each beside their work."""
    return Batch(count, count * (cost_s + work_s), count * cost_s, count * tasks)
