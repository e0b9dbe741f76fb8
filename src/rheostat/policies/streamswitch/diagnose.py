"""The two-level logic (StreamSwitch 3.2): which treatment, if any, the executors of a keyed operator need."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rheostat.policies.streamswitch.balance import balance, scale_out
from rheostat.policies.streamswitch.executor import Executor
from rheostat.policies.streamswitch.health import Health, Thresholds
from rheostat.policies.streamswitch.heavy import make_room, make_room_on_new, stands_alone, too_heavy
from rheostat.policies.streamswitch.scale_in import scale_in
from rheostat.policies.streamswitch.strategy import Strategy


class Treatment(StrEnum):
    """What is to be done, from the most saving to the most generous."""

    SCALE_IN = "scale in"
    NOTHING = "nothing"
    BALANCE = "balance"
    SCALE_OUT = "scale out"


@dataclass(frozen=True, slots=True)
class Room:
    """Whether the budget allows one executor more or fewer, and the number a new one would have."""

    new: int
    more: bool = True
    fewer: bool = True


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`after` are the executors as the treatment is projected to leave them; `strategy` is what moves, if anything.

    `note` says in words why what would have been right is not done. `helpless` are the severe executors whose one
    busy substream is all they serve: they are left out of everything else.
    """

    health: Health
    after: tuple[Executor, ...]
    treatment: Treatment = Treatment.NOTHING
    strategy: Strategy | None = None
    note: str = ""
    helpless: tuple[Executor, ...] = ()


def diagnose(executors: Sequence[Executor], limits: Thresholds, room: Room) -> Diagnosis:
    """Good: the best scale-in, if the operator stays good. Severe: the best load balance, if the operator is no
    longer severe with it, else a scale-out. Moderate: nothing."""
    alone = [each for each in executors if limits.health(each) is Health.SEVERE and stands_alone(each)]
    if alone and (handed_over := _hand_over(executors, limits, room, alone)):
        return handed_over
    numbers = {each.id for each in alone}
    others = [each for each in executors if each.id not in numbers]
    health = limits.overall(others) if others else Health.SEVERE
    treatment, strategy, note = _treatment(others, health, limits, room)
    after = executors if strategy is None else strategy.applied(executors)
    return Diagnosis(health, tuple(after), treatment, strategy, note, tuple(alone))


_Found = tuple[Treatment, Strategy | None, str]


def _treatment(executors: Sequence[Executor], health: Health, limits: Thresholds, room: Room) -> _Found:
    if executors and health is Health.GOOD:
        return _save(executors, limits, room)
    if executors and health is Health.SEVERE:
        return _relieve(executors, limits, room)
    return Treatment.NOTHING, None, ""


def _save(executors: Sequence[Executor], limits: Thresholds, room: Room) -> _Found:
    if not room.fewer:
        return Treatment.NOTHING, None, "no fewer are allowed"
    strategy = scale_in(executors)
    if strategy is None or limits.overall(strategy.applied(executors)) is not Health.GOOD:
        return Treatment.NOTHING, None, "none can be spared"
    return Treatment.SCALE_IN, strategy, ""


def _relieve(executors: Sequence[Executor], limits: Thresholds, room: Room) -> _Found:
    source = max((each for each in executors if limits.health(each) is Health.SEVERE), key=lambda each: each.stress)
    heavy = too_heavy(source, executors, limits)
    if heavy:
        spread = make_room(source, heavy, executors, limits)
        cured = spread is not None
        wider: Strategy | None = make_room_on_new(source, heavy, room.new, limits)
    else:
        spread = balance(executors, source)
        cured = spread is not None and limits.overall(spread.applied(executors)) is not Health.SEVERE
        wider = scale_out(source, room.new)
    if not cured and wider and room.more:
        return Treatment.SCALE_OUT, wider, ""
    if spread:
        return Treatment.BALANCE, spread, "" if cured else "a further executor would be needed but is not allowed"
    return Treatment.NOTHING, None, "a further executor is not allowed" if wider else "no move helps"


def _hand_over(
    executors: Sequence[Executor], limits: Thresholds, room: Room, alone: Sequence[Executor]
) -> Diagnosis | None:
    """A slow executor may leave its one busy substream to a faster one and go, where that cures it."""
    strategy = scale_in(executors, [each.id for each in alone]) if room.fewer else None
    if strategy is None:
        return None
    after = strategy.applied(executors)
    taker = next(each for each in after if each.id == strategy.target)
    if taker.projected_s > limits.latency_s:
        return None
    return Diagnosis(Health.SEVERE, tuple(after), Treatment.SCALE_IN, strategy)
