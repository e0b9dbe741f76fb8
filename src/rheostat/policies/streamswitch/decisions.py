"""Decisions: a diagnosis as a decision with its reason and its predicted effect ("treat", StreamSwitch 5)."""

import math
from collections.abc import Sequence

import msgspec

from rheostat.decision import Decision, Effect, Hold, Move, Scale, Transfer
from rheostat.describe import resize
from rheostat.duration import human
from rheostat.names import PoolName
from rheostat.policies.observation import PoolView
from rheostat.policies.streamswitch.diagnose.keyed import ActionKind, Diagnosis
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Health, Substream, Thresholds
from rheostat.policies.streamswitch.strategies.heavy_substreams import heaviest
from rheostat.snapshot import ExecutorPhase

_REPLACED_AFTER_S = 60.0
"""How long a failed executor is waited for. Its substreams wait as well: they are nowhere else."""


def decide(pool: PoolView, before: Sequence[ExecutorModel], diagnosis: Diagnosis, limits: Thresholds) -> Decision:
    """One decision: substreams and the executors that come or go with them belong together.

    `before` are the executors that serve: fewer than the pool has while some are missing.
    """
    size = pool.size + len(diagnosis.after) - len(before)
    effect = msgspec.structs.replace(predicted(diagnosis.after), executors=size)
    reason = _reason(before, diagnosis, limits, resize(pool.size, size))
    transfers = _transfers(diagnosis)
    if diagnosis.action is ActionKind.HOLD:
        return Hold(pool=pool.name, reason=reason, predicted=effect)
    if diagnosis.action is ActionKind.REBALANCE:
        return Move(operator=pool.operators[0], transfers=transfers, reason=reason, predicted=effect)
    staying = {each.id for each in diagnosis.after}
    leaving = tuple(each.id for each in before if each.id not in staying)
    return Scale(
        pool=pool.name,
        executors=size,
        leaving=leaving,
        transfers=transfers,
        reason=reason,
        predicted=effect,
    )


def predicted(executors: Sequence[ExecutorModel]) -> Effect:
    """The effect that is projected for the executors; their mean latency is weighed by their arrivals."""
    load = sum(each.arrival_rate for each in executors)
    waiting = sum(each.arrival_rate * each.projected_s for each in executors if each.arrival_rate > 0)
    latency_s = waiting / load if load > 0 and math.isfinite(waiting) else None
    return Effect(latency_s, load / sum(each.capacity.service_rate for each in executors), len(executors))


class FailedExecutors:
    """How long executors have been down, and new ones for those that do not come back.

    A failed executor keeps its number and its substreams in the plan, which the plant gives to the process that takes
    its place: no substream is ever on two executors (StreamSwitch 5, onExecutorFailed).
    """

    def __init__(self) -> None:
        self._since_s: dict[tuple[PoolName, int], float] = {}

    def update(self, pool: PoolView, time_s: float) -> None:
        """Add one more turn of `pool`."""
        down = [each.id for each in pool.executors if each.phase is ExecutorPhase.FAILED]
        for number in pool.plan.executors:
            if number in down:
                self._since_s.setdefault((pool.name, number), time_s)
            else:
                self._since_s.pop((pool.name, number), None)

    def replacement(self, pool: PoolView, time_s: float) -> Decision | None:
        """New executors for those that have been down for too long; None if there are none."""
        waited_s = {number: time_s - self._since_s.get((pool.name, number), time_s) for number in pool.plan.executors}
        gone = tuple(number for number, down_s in waited_s.items() if down_s >= _REPLACED_AFTER_S)
        if not gone:
            return None
        since = human(max(waited_s.values()))
        reason = f"executor {', '.join(map(str, gone))} has been down for {since}: replace it by a new executor"
        return pool.scale(pool.size, reason, leaving=gone)


class HotSubstreams:
    """Names substreams that overload an executor by themselves: each once, and again after it was half as heavy."""

    def __init__(self) -> None:
        self._named: set[tuple[PoolName, int]] = set()

    def explained(
        self,
        decision: Decision,
        pool: PoolName,
        executors: Sequence[ExecutorModel],
        diagnosis: Diagnosis,
        limits: Thresholds,
    ) -> Decision:
        """`decision`, with the hot substreams that have not been named yet added to its reason."""
        self._forget(pool, executors)
        parts = [decision.reason]
        for executor in diagnosis.overloaded_by_one:
            heavy = heaviest(executor)
            if heavy is not None and (pool, heavy.id) not in self._named:
                self._named.add((pool, heavy.id))
                parts.append(_hot(executor, heavy, limits))
        return decision if len(parts) == 1 else msgspec.structs.replace(decision, reason="; ".join(parts))

    def _forget(self, pool: PoolName, executors: Sequence[ExecutorModel]) -> None:
        if not any(name == pool for name, _ in self._named):
            return
        for executor in executors:
            half = executor.capacity.trusted_rate / 2
            light = {(pool, each.id) for each in executor.substreams if each.arrival_rate < half}
            self._named -= light


def _hot(executor: ExecutorModel, substream: Substream, limits: Thresholds) -> str:
    """What is wrong with a substream that is too much for its executor by itself, and what would help."""
    trusted, rate = executor.capacity.trusted_rate, substream.arrival_rate
    enough = executor.capacity.rate_for(rate, limits.latency_s)
    return (
        f"substream {substream.id} alone brings {rate:.4g} records/s to executor {executor.id}, which can serve "
        f"{trusted:.4g}: use executors that serve {enough:.4g} records/s, or a finer key with more substreams"
    )


def _transfers(diagnosis: Diagnosis) -> tuple[Transfer, ...]:
    strategy = diagnosis.strategy
    return () if strategy is None else (Transfer(strategy.substreams, strategy.source, strategy.target),)


def _reason(before: Sequence[ExecutorModel], diagnosis: Diagnosis, limits: Thresholds, resized: str) -> str:
    alone = {each.id for each in diagnosis.overloaded_by_one}
    others = [each for each in before if each.id not in alone]
    state = [_state(others, diagnosis, limits)] if others else []
    if alone:
        state.append(f"executor {', '.join(map(str, sorted(alone)))} is overloaded by a single substream")
    return f"{'; '.join(state)}: {_action(diagnosis, resized)}"


def _state(executors: Sequence[ExecutorModel], diagnosis: Diagnosis, limits: Thresholds) -> str:
    """The worst executor: what was measured and projected, and what that is compared with."""
    alike = [each for each in executors if limits.health(each) is diagnosis.health]
    worst = max(alike or executors, key=lambda each: (each.stress, each.latency_s))
    good = diagnosis.health is Health.GOOD
    who = "all executors are good" if good else f"executor {worst.id} is {diagnosis.health}"
    measured, projected = _against(worst.latency_s, limits.alert_s), _against(worst.projected_s, limits.latency_s)
    return f"{who} (latency {measured}, projected {projected})"


def _action(diagnosis: Diagnosis, resized: str) -> str:
    """What is done, and what that should bring."""
    if diagnosis.action is ActionKind.HOLD:
        return "; ".join(part for part in ("hold", diagnosis.note) if part)
    parts = [resized] if diagnosis.action.scales else []
    strategy = diagnosis.strategy
    if strategy is not None:
        count = len(strategy.substreams)
        new = "new executor" if diagnosis.action is ActionKind.SCALE_OUT else "executor"
        substreams = f"{count} substream{'' if count == 1 else 's'}"
        parts.append(f"move {substreams} from executor {strategy.source} to {new} {strategy.target}")
    return "; ".join(part for part in (", ".join([*parts, _expected(diagnosis)]), diagnosis.note) if part)


def _expected(diagnosis: Diagnosis) -> str:
    """The worst that is projected for the executors that can be helped."""
    alone = {each.id for each in diagnosis.overloaded_by_one}
    latency_s, overload = max(each.stress for each in diagnosis.after if each.id not in alone)
    if math.isinf(latency_s):
        return f"which leaves the worst overloaded by {overload:.3g} records/s"
    return f"which brings the worst projected latency to {human(latency_s)}"


def _against(value_s: float, limit_s: float) -> str:
    value = human(value_s) if math.isfinite(value_s) else "unbounded"
    return f"{value} {'>' if value_s > limit_s else '<='} {human(limit_s)}"
