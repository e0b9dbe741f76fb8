"""The loop runs by itself: a turn each period, from the start until it is over or stopped."""

import threading

from scripted import GOAL, TOPOLOGY, Scripted, controller

from rheostat.clock import WallClock
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.testing import FakePlant


def test_running_for_a_time_turns_once_a_period_and_at_both_ends():
    plant, heard = FakePlant(TOPOLOGY), []
    controller(plant, Scripted(), listeners=[heard.append]).run(for_="35s")
    assert [period.time_s for period in heard] == [0.0, 10.0, 20.0, 30.0]
    assert plant.clock.now() == 35.0


def test_running_until_a_moment():
    plant, heard = FakePlant(TOPOLOGY), []
    controller(plant, Scripted(), listeners=[heard.append]).run(until_s=20.0)
    assert [period.time_s for period in heard] == [0.0, 10.0, 20.0]


def test_a_turn_that_takes_too_long_leaves_out_the_turns_it_missed():
    plant, heard = FakePlant(TOPOLOGY), []

    def slow_once(period):
        heard.append(period.time_s)
        if len(heard) == 2:
            plant.clock.wait_until(47.0)

    controller(plant, Scripted(), listeners=[slow_once]).run(for_="60s")
    assert heard == [0.0, 10.0, 50.0, 60.0]


def test_stop_ends_a_run_in_another_thread_while_it_waits():
    turned = threading.Event()
    plant = FakePlant(TOPOLOGY, clock=WallClock())
    loop = Controller(plant, Scripted(), GOAL, options=LoopOptions("1h"), listeners=[lambda period: turned.set()])
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        assert turned.wait(30)
    finally:
        loop.stop()
        thread.join(30)
    assert not thread.is_alive()


def test_a_controller_stopped_before_it_runs_does_not_run():
    plant, heard = FakePlant(TOPOLOGY), []
    loop = controller(plant, Scripted(), listeners=[heard.append])
    loop.stop()
    loop.run(for_="1h")
    assert heard == []
