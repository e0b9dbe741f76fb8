from pathlib import Path

import msgspec
import pytest

from rheostat.errors import ConfigError
from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.policies.pasps.options import PaSpsOptions
from rheostat.policies.start_times import StartTimes
from rheostat.snapshot import ExecutorPhase, ExecutorState, Snapshot

REQUESTED, STARTING, WARM, ACTIVE = (
    ExecutorPhase.REQUESTED,
    ExecutorPhase.STARTING,
    ExecutorPhase.WARM,
    ExecutorPhase.ACTIVE,
)


def seen(*course: tuple[float, dict[int, ExecutorPhase]]) -> float:
    """The longest start after snapshots at these times, each with the phases of executors by number."""
    starts = StartTimes()
    for time_s, phases in course:
        executors = tuple(ExecutorState("pool", number, phase) for number, phase in phases.items())
        starts.update(Snapshot(time_s, (), executors))
    return starts.longest_s


def test_a_start_lasts_from_the_last_time_that_it_was_not_seen_until_it_serves() -> None:
    took_s = seen(
        (0, {0: ACTIVE}),
        (2, {0: ACTIVE, 1: REQUESTED, 2: REQUESTED}),
        (8, {0: ACTIVE, 1: ACTIVE, 2: STARTING}),
        (10, {0: ACTIVE, 1: ACTIVE, 2: ACTIVE}),
        (20, {0: ACTIVE, 1: ACTIVE, 2: ACTIVE}),
    )
    assert took_s == 10  # of executor 2; executor 1 took 8


def test_those_that_start_with_everything_else_tell_nothing() -> None:
    assert seen((0, {0: STARTING}), (30, {0: ACTIVE})) == 0


def test_an_activated_standby_has_no_start() -> None:
    assert seen((0, {0: ACTIVE, -1: WARM}), (2, {0: ACTIVE, 1: ACTIVE, -2: STARTING})) == 0


def test_one_that_is_given_up_is_forgotten_also_when_its_number_comes_again() -> None:
    assert seen((0, {}), (2, {1: STARTING}), (4, {}), (50, {1: STARTING}), (52, {1: ACTIVE})) == 48  # since 4
    assert seen((0, {}), (2, {1: STARTING}), (4, {}), (50, {1: ACTIVE})) == 0


def test_starts_disturb_other_pools_for_a_while() -> None:
    starts = StartTimes()
    for time_s, phase in ((0.0, ACTIVE), (2.0, REQUESTED), (20.0, STARTING), (22.0, STARTING), (24.0, ACTIVE)):
        starts.update(
            Snapshot(time_s, (), (ExecutorState("one", 0, ACTIVE), ExecutorState("one", int(time_s > 0), phase)))
        )
        assert not starts.disturb("one"), "of one pool it is known which executors are new"
        assert starts.disturb("other") == (time_s in (2.0, 20.0)), time_s


def test_waiting_for_room_is_no_start() -> None:
    assert seen((0, {}), (2, {1: REQUESTED}), (200, {1: ACTIVE})) == 0


def test_only_the_last_few_starts_count() -> None:
    course: list[tuple[float, dict[int, ExecutorPhase]]] = [(0, {}), (2, {0: STARTING}), (30, {0: ACTIVE})]
    for number in range(1, 6):
        course += [(30 + 4 * number, {number: STARTING}), (32 + 4 * number, {number: ACTIVE})]
    assert seen(*course[:-2]) == 30
    assert seen(*course) == 6  # of executor 1, who was not there at 30


def test_executors_that_take_long_to_start_are_there_for_the_peak_without_being_told_how_long() -> None:
    told = {
        "name": "slow starts",
        "duration": "10m",
        "source": [{"name": "input", "load": {"shape": "sine", "base": 300, "amplitude": 250, "period": "60s"}}],
        "operator": [{"name": "work", "inputs": ["input"], "service": {"mean": "10ms"}}],
        "sla": [{"latency": "1s"}],
        "cluster": {"start": "12s"},
    }
    scenario = make_scenario(msgspec.convert(told, ScenarioFile), Path())
    options = {"td": "6s", "headroom": 0.2, "window": 180, "predictor": "seasonal-naive", "keep": 0}
    late, told_so, found_out = (
        simulate(scenario, "pa-sps", {**options, "lead": lead}, seed=1).success_rate or 0.0
        for lead in (0, "12s", "auto")
    )
    assert found_out > late + 0.2
    assert found_out == pytest.approx(told_so, abs=0.05)


def test_a_lead_is_a_duration_or_found_out() -> None:
    assert PaSpsOptions().lead_s is None
    assert PaSpsOptions(lead="18s").lead_s == 18
    with pytest.raises(ConfigError, match="lead"):
        PaSpsOptions(lead="soon")


def crowding(*starts: tuple[int, float]) -> StartTimes:
    """Groups of executors that start at once, each by its number and the time it takes."""
    times, time_s, served = StartTimes(), 0.0, 0
    for number, took_s in starts:
        old = dict.fromkeys(range(served), ACTIVE)
        new = range(served, served + number)
        for moment_s, phases in (
            (time_s, old),
            (time_s + 0.5, old | dict.fromkeys(new, STARTING)),
            (time_s + took_s, old | dict.fromkeys(new, ACTIVE)),
        ):
            executors = tuple(ExecutorState("pool", each, phase) for each, phase in phases.items())
            times.update(Snapshot(moment_s, (), executors))
        time_s, served = time_s + took_s + 10, served + number
    return times


def test_executors_that_start_at_once_are_assumed_to_slow_each_other_down_a_little() -> None:
    assert crowding().crowding_s == 0.3
    assert crowding((1, 6.0), (1, 7.0)).crowding_s == 0.3, "nothing is known of several"


def test_how_much_is_learned_from_starts_of_different_numbers() -> None:
    none, much = crowding((1, 6.0), (4, 6.0)), crowding((1, 6.0), (4, 15.0))
    assert none.crowding_s < 0.5
    assert much.crowding_s == pytest.approx(3.0, abs=0.9)
    assert none.alone_s == pytest.approx(6.0)
    assert much.alone_s == pytest.approx(15.0 - 3 * much.crowding_s)
    assert much.longest_s == 15.0


def test_what_several_cost_is_not_forgotten_when_a_group_starts() -> None:
    seen = crowding((1, 6.0), (6, 21.0))
    assert seen.crowding_s == pytest.approx(3.0, abs=1.0)
    assert seen.longest_s == 21.0
    assert seen.alone_s < 10.0
