import msgspec
import pytest

from rheostat.decision import Hold, Scale
from rheostat.errors import ConfigError, JournalError
from rheostat.explain import explain, explain_turn
from rheostat.explain.moment import absolute_s, since_start
from rheostat.explain.text import run_text, turn_text
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "words", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="w", substreams=8)]
)
GOAL = Goal(TOPOLOGY, (SLA("2s", "10s"), SLA("1s", operator="count")), Budget(total=10))


class Failing(Policy):
    """Decides about one pool, and fails from the third turn on."""

    def __init__(self, goal, options):
        super().__init__(goal, options)
        self._turns = 0

    def decide(self, observation):
        self._turns += 1
        if self._turns > 2:
            raise RuntimeError("a defect")
        return [Hold(pool="split", reason="nothing to do")]


class Once(Policy):
    """Scales out in one turn only."""

    def decide(self, observation):
        if observation.snapshot.time_s != 20:
            return observation.hold_all("not now")
        return [Scale(pool="split", executors=2, reason="now")]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


def live(path, policy="threshold", *, lives=("3m",), goal=GOAL, keep=None, plan=None, **loop):
    plant = FakePlant(TOPOLOGY, arrival_rate=lambda t: 450 if t < 100 else 60, settle_s=15, plan=plan)
    with Journal(path, keep_snapshots=keep) as journal:
        for life in lives:
            options = LoopOptions("10s", **{"history": 5, **loop})
            Controller(plant, make_policy(policy, goal, {}), goal, journal, options, plan=plan).run(for_=life)


def entries(path, operator=None, ruling=None):
    [run] = explain(path, operator)
    return [entry for entry in run.entries if ruling in (None, entry.decision.ruling)]


def test_a_decision_has_its_reason_its_numbers_its_prediction_and_what_came_of_it(path):
    live(path)
    first = entries(path, "split", Ruling.ACCEPTED)[0]
    with Journal(path, read_only=True) as journal:
        recorded = journal.decisions()[0]
    assert (first.since_s, first.turns, first.subjects) == (10, 1, ("split",))
    assert first.decision.decision == "scale to 2 executors"
    assert first.decision.reason == recorded.decision.reason
    assert (first.decision.predicted, first.decision.observed) == (recorded.decision.predicted, recorded.observed)
    assert first.decision.observed is not None
    numbers = first.numbers.operators["split"]
    assert first.numbers.operators.keys() == {"split"}
    assert (numbers.arrival_rate, numbers.completion_rate, numbers.utilisation) == (450, 100, 1.0)
    assert (numbers.queued, numbers.executors, numbers.planned) == (3500, 1, 1)
    assert (first.numbers.external_rate, first.numbers.sla_s) == (450, 2)
    text = run_text(explain(path)[0])
    assert "run 1 of words: policy threshold, SLA 2s over 10s and 1s over 10s at count, 19 turns in 3m" in text
    assert "  10s  split: scale to 2 executors: utilisation 100% > 80%" in text
    assert "      measured: split: 450/s in, 100/s out, 100/s per executor, utilisation 100%, backlog 3,500" in text
    assert "      predicted: utilisation 50%, 2 executors\n      observed: " in text


def test_equal_holds_of_successive_turns_and_pools_are_one_entry(path):
    live(path, "static", plan=Plan.initial(TOPOLOGY, 5))
    [only] = entries(path)
    assert (only.since_s, only.until_s, only.turns, only.subjects) == (0, 180, 19, ("split", "count"))
    assert only.decision.ruling is Ruling.HELD
    line = "0s to 3m (19 turns, 3m)  split, count: hold: no number of executors configured: hold at 5"
    assert line in run_text(explain(path)[0])


def test_holds_that_differ_in_numbers_only_are_one_entry_and_others_are_not(path):
    live(path)
    held = entries(path, "count", Ruling.HELD)
    reasons = [entry.decision.reason for entry in held]
    assert sum(entry.turns for entry in held) > len(held)
    assert any("settling" in reason for reason in reasons)
    assert "the utilisation was not measured: hold" in reasons


def test_a_hold_ends_where_something_else_is_decided(path):
    live(path, Once)
    assert [(e.since_s, e.turns, e.decision.decision) for e in entries(path, "split")] == [
        (0, 2, "hold"),
        (20, 1, "scale to 2 executors"),
        (30, 16, "hold"),
    ]


def test_refusals_say_why_and_how_long(path):
    live(path, cooldown="1h")
    refused = entries(path, ruling=Ruling.REFUSED)
    assert refused
    assert all("cooldown of 1h" in entry.decision.refusal for entry in refused)
    assert max(entry.turns for entry in refused) > 1
    assert "refused: scale to " in run_text(explain(path)[0])


def test_a_dry_run_says_so(path):
    live(path, dry_run=True)
    assert "dry run, not carried out: scale to 2 executors" in run_text(explain(path)[0])


def test_a_policy_that_fails_or_says_nothing_is_a_reason_to_hold(path):
    live(path, Failing, lives=["1m"])
    assert [(e.subjects, e.since_s, e.turns, e.decision.reason) for e in entries(path)] == [
        (("split",), 0, 2, "nothing to do"),
        (("count",), 0, 2, "the policy decided nothing"),
        (("split", "count"), 20, 5, "the policy failed: RuntimeError: a defect"),
    ]
    [run] = explain(path)
    assert [(p.since_s, p.place, p.what) for p in run.problems] == [(20, "policy", "RuntimeError: a defect")]
    assert "  20s  problem: policy: RuntimeError: a defect" in run_text(run)


def test_every_run_of_a_journal_is_explained_from_its_own_start(path):
    live(path, lives=["1m", "2m"])
    first, second = explain(path)
    assert (first.run, first.turns, second.run, second.turns) == (1, 7, 2, 12)  # at 60 s the clock stood still
    assert (first.started_s, second.started_s) == (0, 60)
    assert second.entries[0].since_s == 10


def test_decisions_outlive_their_snapshots(path):
    live(path, lives=["30m"], keep=10)
    [run] = explain(path)
    assert not run.complete
    first = next(entry for entry in run.entries if entry.decision.ruling is Ruling.ACCEPTED)
    assert (first.numbers, first.decision.operators) == (None, ("split",))
    text = run_text(run)
    assert "the oldest snapshots were deleted" in text
    assert "measured: the snapshot was deleted" in text
    with pytest.raises(ConfigError, match="--at 10s is outside of what was recorded: 1"):
        explain_turn(path, "10s")


def test_a_turn_is_shown_in_full_with_all_operators(path):
    live(path)
    shown = explain_turn(path, "15s")
    assert (shown.turn.run, shown.turn.time_s) == (1, 10)
    assert shown.turn.numbers.operators.keys() == {"split", "count"}
    assert {(each.subject, each.decision) for each in shown.turn.decisions} == {
        ("split", "scale to 2 executors"),
        ("count", "scale to 2 executors"),
    }
    text = turn_text(shown)
    assert text.startswith("turn at 10s, run 1, policy threshold, SLA 2s over 10s and 1s over 10s at count\n")
    assert "  pipeline: 450/s enter, latency " in text
    assert "(SLA 1s)" in text
    later = explain_turn(path, "20s")
    assert later.turn.settling == ("count", "split")
    assert "  settling: count, split" in turn_text(later)
    assert "split: hold: settling after the last action" in turn_text(later)


def test_a_turn_has_the_same_numbers_as_in_the_whole_story(path):
    live(path, "drs", lives=["5m"])
    for entry in entries(path, ruling=Ruling.ACCEPTED):
        turn = explain_turn(path, since_start(entry.since_s)).turn
        assert turn.numbers.of(entry.numbers.operators) == entry.numbers


def test_one_operator_can_be_asked_for(path):
    live(path)
    assert {s for entry in entries(path, "count") for s in entry.subjects} == {"count"}
    turn = explain_turn(path, "10s", "count").turn
    assert (turn.numbers.operators.keys(), [each.subject for each in turn.decisions]) == ({"count"}, ["count"])


def test_a_pool_that_is_shared_concerns_each_of_its_operators(path):
    live(path, plan=Plan.initial(TOPOLOGY, 2, shared=[("split", "count")]))
    assert entries(path, "count") == entries(path, "split")
    assert entries(path, "count")[0].decision.operators == ("split", "count")


def test_times_are_since_the_start_of_the_last_run_or_absolute(path):
    live(path, lives=["1m", "2m"])
    assert explain_turn(path, "10s").turn.time_s == 70
    with pytest.raises(ConfigError, match="--at 3m is outside of what was recorded: 0s to 2m after the start"):
        explain_turn(path, "3m")


@pytest.mark.parametrize(
    ("text", "time_s"),
    [
        ("90", 1.7e9 + 90),
        ("90s", 1.7e9 + 90),
        ("1m30s", 1.7e9 + 90),
        ("1700000090", 1.7e9 + 90),
        ("1700000090000", 1.7e9 + 90),
        ("2023-11-14T22:14:50", 1.7e9 + 90),
        ("2023-11-14 23:14:50+01:00", 1.7e9 + 90),
    ],
)
def test_a_time_may_be_written_in_several_ways(text, time_s):
    assert absolute_s(text, 1.7e9) == time_s


@pytest.mark.parametrize("text", ["yesterday", "", "-5", "12:00"])
def test_what_is_no_time_is_refused_with_what_would_be(text):
    with pytest.raises(ConfigError, match="is not a time: give the time since the start of the run"):
        absolute_s(text, 1.7e9)


def test_a_simulated_run_has_no_date():
    with pytest.raises(ConfigError, match="a simulated run has no date; give the time since its start"):
        absolute_s("2026-01-01", 0.0)


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [(0, "0s"), (59.96, "1m"), (90, "1m30s"), (12.34, "12.4s"), (3600, "1h"), (3725.5, "1h2m5.5s")],
)
def test_times_are_shown_so_that_they_can_be_given_again(duration_s, text):
    assert since_start(duration_s) == text
    assert absolute_s(text, 0.0) >= duration_s


def test_what_cannot_be_explained_is_refused_with_the_reason(path, tmp_path):
    Journal(path).close()
    with pytest.raises(JournalError, match="is empty: no run was recorded"):
        explain(path)
    with pytest.raises(JournalError, match=r"is a folder: give the journal in it, .*journal\.db"):
        explain(tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("")
    with pytest.raises(JournalError, match="is empty: nothing was recorded"):
        explain(text)
    text.write_text("not a journal")
    with pytest.raises(JournalError, match=r"notes\.txt: file is not a database, so it is no journal"):
        explain(text)


def test_an_unknown_operator_is_refused_with_the_one_that_may_be_meant(path):
    live(path, lives=["20s"])
    with pytest.raises(ConfigError, match="no operator is called 'cuont'; did you mean 'count'"):
        explain(path, "cuont")
    with pytest.raises(ConfigError, match="no operator is called 'cuont'; did you mean 'count'"):
        explain_turn(path, "10s", "cuont")


def test_an_explanation_can_be_written_as_json(path):
    live(path)
    assert msgspec.json.decode(msgspec.json.encode(explain(path)))[0]["entries"][0]["decision"]["ruling"] == "held"
    assert msgspec.json.decode(msgspec.json.encode(explain_turn(path, "10s")))["turn"]["time_s"] == 10
