from rheostat.decision import Scale
from rheostat.journal.records import RecordedDecision
from rheostat.loop.turn import Ruling
from rheostat.web.decision_view import decision_views


def decided(number, ruling=Ruling.REFUSED, *, executors=3, why="cooldown of 10s: 3s left", pool="work"):
    decision = Scale(pool=pool, executors=executors, reason=f"utilisation {number}%")
    return RecordedDecision(number, 1, number, float(number), decision, ruling, why, None, None, None)


def test_equal_refusals_of_successive_turns_are_one_entry() -> None:
    newest_first = [decided(5, why="cooldown of 10s: 1s left"), decided(4, pool="other"), decided(3), decided(2)]
    views = decision_views(newest_first)
    assert [(view.subject, view.turns, view.since_s, view.time_s) for view in views] == [
        ("work", 3, 2.0, 5.0), ("other", 1, 4.0, 4.0),
    ]  # fmt: skip


def test_entries_go_on_from_those_before() -> None:
    rows = [decided(5), decided(4, pool="other"), decided(3), decided(2), decided(1, Ruling.ACCEPTED, why="")]
    for split in range(len(rows)):
        assert decision_views(rows[:split], decision_views(rows[split:])) == decision_views(rows)


def test_what_was_carried_out_stays_by_itself_and_separates() -> None:
    done = [decided(number, Ruling.ACCEPTED, why="") for number in (4, 3)]
    views = decision_views([decided(5), *done, decided(2), decided(1, executors=4)])
    assert [(view.id, view.turns) for view in views] == [(5, 1), (4, 1), (3, 1), (2, 1), (1, 1)]
