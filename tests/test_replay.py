import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision import Hold, Scale
from rheostat.errors import ConfigError, JournalError
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies import registry
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.replay import Difference, decisions_again, replay
from rheostat.sla import Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="w", substreams=8)]
)
GOAL = Goal(TOPOLOGY, budget=Budget(total=10))


class Rising(Policy):
    """Wants one more executor whenever it has seen three observations since it last did; fails on every seventh."""

    def __init__(self, goal, options):
        super().__init__(goal, options)
        self._seen = 0

    def decide(self, observation):
        self._seen += 1
        if self._seen % 7 == 0:
            raise RuntimeError("seventh")
        if self._seen % 3:
            return [Hold(pool="count", reason="not yet")]
        size = observation.plan.size("count") + 1
        rate = observation.measures.operators["count"].arrival_rate
        return [Scale(pool="count", executors=size, reason=f"seen {self._seen}, rate {rate}")]


@pytest.fixture(autouse=True)
def rising(monkeypatch):
    monkeypatch.setattr(registry, "_BUILT_IN", (*registry._BUILT_IN, Rising))


def live(journal, policy="threshold", options=None, lives=("5m",), goal=GOAL, rate=None, **loop):
    """Controllers one after the other on one plant and journal."""
    rate = rate or (lambda t: 450 if t < 150 else 60)
    plant = FakePlant(TOPOLOGY, arrival_rate=rate, settle_s=15)
    for life in lives:
        loop_options = LoopOptions("10s", **{"history": 5, **loop})
        Controller(plant, make_policy(policy, goal, options), goal, journal, loop_options).run(for_=life)
    return journal


def written(journal, number):
    """All that the recorded policy decided in one run, in words and numbers, by snapshot."""
    decided = {r.id: {h.subject: h for h in r.holds} for r in journal.recorded(number)}
    for one in journal.decisions(number):
        decided[one.snapshot][one.decision.subject] = one.decision
    return decided


def again(journal, number):
    run = journal.runs()[number]
    policy = make_policy(run.policy, run.goal.goal(), run.options)
    return {
        r.observation.id: {d.subject: d for d in r.decisions} for r in decisions_again(journal, number, run, policy)
    }


@settings(max_examples=25, deadline=None)
@given(
    policy=st.sampled_from(["static", "threshold", "rising"]),
    smoothing=st.sampled_from(["none", "alpha:0.6", "window:3"]),
    levels=st.lists(st.integers(0, 900), min_size=1, max_size=6),
    lives=st.lists(st.sampled_from(["20s", "45s", "2m"]), min_size=1, max_size=3),
    cooldown=st.sampled_from(["0s", "30s", "forever"]),
)
def test_the_same_policy_decides_the_same_again_over_restarts_down_to_its_words(
    policy, smoothing, levels, lives, cooldown
):
    rate = lambda t: levels[int(t / 40) % len(levels)]  # noqa: E731
    journal = live(Journal(), policy, {"smoothing": smoothing}, lives, rate=rate, cooldown=cooldown)
    for number in journal.runs():
        assert again(journal, number) == written(journal, number)
    report = replay(journal)
    assert (report.differences, report.recorded, report.complete) == ([], report.replayed, True)
    assert report.agreed == sum(report.recorded.values())


def test_another_policy_is_shown_where_it_would_have_decided_otherwise():
    journal = live(Journal())
    report = replay(journal, "static", {"executors": {"split": 2}})
    assert report.policy == "static"
    assert report.recorded["scale"] == len(journal.decisions())
    first = next(d for d in report.differences if d.subject == "split")
    assert (first.time_s, first.recorded, first.replayed.executors) == (0.0, None, 2)
    assert all(d.replayed is None for d in report.differences if d.subject == "count")
    agreed = [d for d in journal.decisions() if d.decision.subject == "split" and d.decision.executors == 2]
    assert report.agreed == sum(
        d.decision.subject == "split" and d.decision.executors == 2 for d in journal.decisions()
    )
    assert agreed


def test_other_options_of_the_same_policy_change_only_what_they_change():
    journal = live(Journal(), options={"high": 0.9, "smoothing": "window:2"})
    assert replay(journal, "threshold").options == {"high": 0.9, "low": 0.4, "smoothing": "window:2"}
    report = replay(journal, "threshold", {"low": 0.0})
    assert report.options == {"high": 0.9, "low": 0.0, "smoothing": "window:2"}
    assert report.differences
    assert all(d.replayed is None and d.recorded is not None for d in report.differences)


def test_another_policy_starts_from_its_own_defaults():
    journal = live(Journal(), options={"smoothing": "window:2"})
    assert replay(journal, "rising").options == {"smoothing": "none"}


def test_a_policy_that_fails_is_counted_and_goes_on():
    report = replay(live(Journal(), "static", {"executors": 1}, ["3m"]), "rising")
    assert (report.snapshots, report.failures) == (19, 2)
    assert report.replayed["scale"] == 6


def test_a_journal_on_disk_can_be_replayed_while_it_is_written(tmp_path):
    with Journal(tmp_path / "j") as journal:
        live(journal)
        assert replay(tmp_path / "j").snapshots == 31


def test_pruned_snapshots_are_told(tmp_path):
    journal = live(Journal(tmp_path / "j", keep_snapshots=10), lives=["30m"])
    report = replay(journal)
    assert not report.complete
    assert "the oldest snapshots have been deleted" in report.text()
    journal.close()


def test_what_was_refused_counts_as_what_was_wanted():
    journal = live(Journal(), "rising", goal=Goal(TOPOLOGY, budget=Budget(total=2)))
    assert {d.ruling.value for d in journal.decisions()} == {"refused"}
    assert replay(journal).differences == []


def test_an_empty_journal_replays_to_an_empty_report(tmp_path):
    Journal(tmp_path / "j").close()
    report = replay(tmp_path / "j", "threshold")
    assert (report.snapshots, report.differences) == (0, [])


def test_a_missing_journal_and_an_unknown_policy_are_refused(tmp_path):
    with pytest.raises(JournalError, match="there is no journal at"):
        replay(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="did you mean 'threshold'"):
        replay(live(Journal()), "treshold")


def test_the_report_as_text_has_the_counts_and_the_first_differences():
    journal = live(Journal())
    report = replay(journal, "static")
    text = report.text(limit=2)
    lines = text.splitlines()
    assert lines[0].startswith("31 snapshots replayed with static")
    assert lines[1] == f"recorded: scale {report.recorded['scale']}"
    assert lines[2] == "replayed: only holds"
    assert lines[3] == f"0 decisions are the same, {len(report.differences)} differ"
    assert re.fullmatch(
        r"  10\.0 s  split: recorded scale to 2 executors \(utilisation .*\), replayed hold \(.*\)", lines[4]
    )
    assert lines[6] == f"  and {len(report.differences) - 2} more"


def test_a_difference_tells_a_date_on_a_wall_clock_and_both_reasons():
    scale = Scale(pool="count", executors=3, leaving=(1,), reason="busy")
    difference = Difference(1.7e9, "count", None, scale, "idle", "busy")
    assert str(difference) == (
        "2023-11-14 22:13:20  count: recorded hold (idle), replayed scale to 3 executors; without 1 (busy)"
    )


def test_holds_on_either_side_have_their_reasons():
    recorded = live(Journal(), "rising", {}, ["1m"])
    first = replay(recorded, "threshold").differences[0]
    assert first.recorded is None
    assert (first.subject, first.recorded_reason) == ("split", "")
    assert "utilisation" in first.replayed_reason
    held = next(d for d in replay(recorded, "static").differences if d.replayed is None)
    assert held.replayed_reason.startswith("no number of executors configured")
    idle = next(d for d in replay(live(Journal(), "static", {}, ["1m"]), "rising").differences if d.recorded is None)
    assert idle.recorded_reason
    failed = next(
        d for d in replay(live(Journal(), lives=["5m"]), "rising").differences if "failed" in d.replayed_reason
    )
    assert failed.replayed_reason == "the policy failed: RuntimeError: seventh"
