"""What came of an action, beside what was predicted."""

import pytest
from scripted import TOPOLOGY, Scripted, controller, scale, turns

from rheostat.decision import Effect
from rheostat.journal import Journal
from rheostat.loop.turn import Outcome
from rheostat.testing import FakePlant


def test_an_outcome_compares_what_was_predicted_with_what_was_observed():
    plant, journal = FakePlant(TOPOLOGY, arrival_rate=90, settle_s=15.0), Journal()
    predicted = Effect(utilisation=0.45, executors=2)
    loop = controller(plant, Scripted([], scale(2, predicted=predicted)), journal=journal, effect_window="20s")
    periods = turns(loop, plant, 7)
    assert [period.outcomes for period in periods[:5]] == [()] * 5
    [outcome] = periods[5].outcomes
    assert outcome == Outcome(1, Effect(pytest.approx(0.01), pytest.approx(0.45, abs=0.01), 2))
    [kept] = journal.decisions()
    assert (kept.decision.predicted, kept.observed) == (predicted, outcome.observed)


def test_an_action_that_is_replaced_leaves_what_is_known_of_it():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    policy = Scripted([], scale(2), scale(3), [], [], scale(2))
    turns(controller(plant, policy, journal=journal, effect_window="1m"), plant, 8)
    first, second, third = journal.decisions()
    assert (first.observed, first.note) == (None, "replaced by another action after 10s")
    assert (second.observed.utilisation, second.note) == (pytest.approx(1 / 3), "replaced by another action after 30s")
    assert (third.observed, third.note) == (None, None)
