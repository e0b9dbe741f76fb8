"""Diagnosis of a keyed operator: which action its executors need, by two levels (StreamSwitch 3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rheostat.policies.streamswitch.model.executor import ExecutorModel, Health, Thresholds
from rheostat.policies.streamswitch.model.move_terms import FREE_MOVES, MoveTerms
from rheostat.policies.streamswitch.strategies.balance import balance, scale_out
from rheostat.policies.streamswitch.strategies.heavy_substreams import (
    make_room,
    make_room_on_new,
    serves_one_substream,
    too_heavy,
)
from rheostat.policies.streamswitch.strategies.scale_in import scale_in
from rheostat.policies.streamswitch.strategies.strategy import Strategy


class ActionKind(StrEnum):
    """What is to be done."""

    SCALE_IN = "scale in"
    HOLD = "hold"
    REBALANCE = "rebalance"
    SCALE_OUT = "scale out"

    @property
    def scales(self) -> bool:
        return self in (ActionKind.SCALE_IN, ActionKind.SCALE_OUT)


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Whether bounds and budget allow one executor more or fewer, and the number a new one would have; and what moves
    between executors have to bring."""

    new: int
    more: bool = True
    fewer: bool = True
    moves: MoveTerms = FREE_MOVES


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`after` are the executors as they are projected to be after the action; `strategy` is what moves, if anything.

    `note` says why what would have been right is not done. `overloaded_by_one` are the severe executors that serve a
    single busy substream: no move helps them, and the diagnosis is about the others.
    """

    health: Health
    after: tuple[ExecutorModel, ...]
    action: ActionKind = ActionKind.HOLD
    strategy: Strategy | None = None
    note: str = ""
    overloaded_by_one: tuple[ExecutorModel, ...] = ()


def diagnose(executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits) -> Diagnosis:
    """Good: the best scale-in, if the operator stays good. Severe: the best rebalancing, if the operator is no longer
    severe then, else a scale-out. Moderate: hold."""
    alone = [each for each in executors if limits.health(each) is Health.SEVERE and serves_one_substream(each)]
    if alone and (handed_over := _hand_over(executors, limits, allowed, alone)):
        return handed_over
    numbers = {each.id for each in alone}
    others = [each for each in executors if each.id not in numbers]
    health = limits.overall(others) if others else Health.SEVERE
    action, strategy, note = _action(others, health, limits, allowed)
    after = executors if strategy is None else strategy.applied(executors)
    return Diagnosis(health, tuple(after), action, strategy, note, tuple(alone))


_Found = tuple[ActionKind, Strategy | None, str]


def _action(executors: Sequence[ExecutorModel], health: Health, limits: Thresholds, allowed: SizeLimits) -> _Found:
    if executors and health is Health.GOOD:
        return _scale_in(executors, limits, allowed)
    if executors and health is Health.SEVERE:
        return _scale_out(executors, limits, allowed)
    return ActionKind.HOLD, None, ""


def _scale_in(executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits) -> _Found:
    if not allowed.fewer:
        return ActionKind.HOLD, None, "fewer executors are not allowed"
    strategy = scale_in(executors)
    if strategy is None or limits.overall(strategy.applied(executors)) is not Health.GOOD:
        return ActionKind.HOLD, None, "with one executor fewer they would not stay good"
    return ActionKind.SCALE_IN, strategy, ""


def _scale_out(executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits) -> _Found:
    source = max((each for each in executors if limits.health(each) is Health.SEVERE), key=lambda each: each.stress)
    heavy = too_heavy(source, executors, limits)
    if heavy:
        spread = make_room(source, heavy, executors, limits)
        enough = spread is not None
        wider: Strategy | None = make_room_on_new(source, heavy, allowed.new, limits)
    else:
        spread = balance(executors, source)
        enough = spread is not None and limits.overall(spread.applied(executors)) is not Health.SEVERE
        wider = scale_out(source, allowed.new)
    if not enough and wider and allowed.more:
        return ActionKind.SCALE_OUT, wider, ""
    if spread:
        note = "" if enough else "one more executor is needed but not allowed"
        if (unworthy := allowed.moves.why_not(spread, source, executors, cures=enough)) is not None:
            return ActionKind.HOLD, None, "; ".join(part for part in (note, unworthy) if part)
        return ActionKind.REBALANCE, spread, note
    return ActionKind.HOLD, None, "one more executor is not allowed" if wider else "no move of substreams helps"


def _hand_over(
    executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits, alone: Sequence[ExecutorModel]
) -> Diagnosis | None:
    """A slow executor may hand its one busy substream over to a faster one and leave, where that is enough."""
    strategy = scale_in(executors, [each.id for each in alone]) if allowed.fewer else None
    if strategy is None:
        return None
    after = strategy.applied(executors)
    taker = next(each for each in after if each.id == strategy.target)
    if taker.projected_s > limits.latency_s:
        return None
    return Diagnosis(Health.SEVERE, tuple(after), ActionKind.SCALE_IN, strategy)
