"""Treat (StreamSwitch 5): a diagnosis as a decision, with its reason in numbers and what it is predicted to bring."""

import math
from collections.abc import Sequence

from rheostat.decision import Decision, Effect, Hold, Move, Scale, Transfer
from rheostat.describe import executors as counted
from rheostat.duration import human
from rheostat.policies.observation import PoolView
from rheostat.policies.streamswitch.diagnose import Diagnosis, Treatment
from rheostat.policies.streamswitch.executor import Executor, Substream
from rheostat.policies.streamswitch.health import Health, Thresholds


def treat(pool: PoolView, before: Sequence[Executor], diagnosis: Diagnosis, limits: Thresholds) -> Decision:
    """One decision: substreams and the executors that come or go with them belong together."""
    effect, reason = predicted(diagnosis.after), _reason(before, diagnosis, limits)
    transfers = _transfers(diagnosis)
    if diagnosis.treatment is Treatment.NOTHING:
        return Hold(pool=pool.name, reason=reason, predicted=effect)
    if diagnosis.treatment is Treatment.BALANCE:
        return Move(operator=pool.operators[0], transfers=transfers, reason=reason, predicted=effect)
    staying = {each.id for each in diagnosis.after}
    leaving = tuple(each.id for each in before if each.id not in staying)
    return Scale(
        pool=pool.name,
        executors=len(diagnosis.after),
        leaving=leaving,
        transfers=transfers,
        reason=reason,
        predicted=effect,
    )


def predicted(executors: Sequence[Executor]) -> Effect:
    """What the executors are projected to bring; their mean latency is weighed by their arrivals."""
    load = sum(each.arrival_rate for each in executors)
    waiting = sum(each.arrival_rate * each.projected_s for each in executors if each.arrival_rate > 0)
    latency_s = waiting / load if load > 0 and math.isfinite(waiting) else None
    return Effect(latency_s, load / sum(each.capacity.service_rate for each in executors), len(executors))


def complaint(executor: Executor, substream: Substream, limits: Thresholds) -> str:
    """Words for a substream that is too much for its executor all by itself, and what would help."""
    trusted, rate = executor.capacity.trusted_rate, substream.arrival_rate
    enough = executor.capacity.rate_for(rate, limits.latency_s)
    return (
        f"substream {substream.id} alone brings {rate:.4g} records/s to executor {executor.id}, which is trusted with "
        f"{trusted:.4g}: only an executor that serves {enough:.4g}/s or a finer key (more substreams) would help"
    )


def _transfers(diagnosis: Diagnosis) -> tuple[Transfer, ...]:
    strategy = diagnosis.strategy
    return () if strategy is None else (Transfer(strategy.substreams, strategy.source, strategy.target),)


def _reason(before: Sequence[Executor], diagnosis: Diagnosis, limits: Thresholds) -> str:
    left_out = {each.id for each in diagnosis.helpless}
    looked_at = [each for each in before if each.id not in left_out]
    found = _found(looked_at, diagnosis, limits) if looked_at else ""
    apart = f"executor {', '.join(map(str, sorted(left_out)))} cannot be helped" if left_out else ""
    return "; ".join(part for part in (found, diagnosis.note, apart) if part)


def _found(executors: Sequence[Executor], diagnosis: Diagnosis, limits: Thresholds) -> str:
    ill = [each for each in executors if limits.health(each) is diagnosis.health]
    worst = max(ill or executors, key=lambda each: (each.stress, each.latency_s))
    measured, projected = _against(worst.latency_s, limits.alert_s), _against(worst.projected_s, limits.latency_s)
    who = "all are good" if diagnosis.health is Health.GOOD else f"executor {worst.id} is {diagnosis.health}"
    state = f"{who} (latency {measured}, projected {projected})"
    return f"{state}: {_action(executors, diagnosis)}" if diagnosis.treatment is not Treatment.NOTHING else state


def _action(before: Sequence[Executor], diagnosis: Diagnosis) -> str:
    strategy, treatment = diagnosis.strategy, diagnosis.treatment
    if strategy is None:
        return f"{counted(len(diagnosis.after))} instead of {len(before)}, {_outlook(diagnosis)}"
    moved = len(strategy.substreams)
    what = f"{moved} substream{'' if moved == 1 else 's'} from {strategy.source} to"
    if treatment is Treatment.SCALE_OUT:
        return f"no load balance cures it, {what} a new executor {strategy.target}, {_outlook(diagnosis)}"
    if treatment is Treatment.SCALE_IN:
        return f"executor {strategy.source} can go, {what} {strategy.target}, {_outlook(diagnosis)}"
    return f"{what} {strategy.target}, {_outlook(diagnosis)}"


def _outlook(diagnosis: Diagnosis) -> str:
    """The worst that is projected for the executors that can be helped."""
    left_out = {each.id for each in diagnosis.helpless}
    latency_s, overload = max(each.stress for each in diagnosis.after if each.id not in left_out)
    if math.isinf(latency_s):
        return f"after which the worst still gets {overload:.3g} records/s too many"
    return f"after which {human(latency_s)} is the most that is projected"


def _against(value_s: float, limit_s: float) -> str:
    return f"{human(value_s)} {'>' if value_s > limit_s else '<='} {human(limit_s)}"
