import pytest

from rheostat.decision import Fuse, Hold, Location, Move, Place, Regroup, Scale, Split, Transfer
from rheostat.describe import describe, executors


def test_one_is_singular():
    assert (executors(1), executors(3.0)) == ("1 executor", "3 executors")


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (None, "hold"),
        (Hold(pool="a", reason=""), "hold"),
        (Scale(pool="a", reason="", executors=3), "scale to 3 executors"),
        (
            Scale(pool="a", reason="", executors=3, standby=2),
            "scale to 3 executors; keep 2 warm besides",
        ),
        (
            Scale(pool="a", reason="", executors=1, leaving=(2, 4), transfers=(Transfer((7,), 2, 0),)),
            "scale to 1 executor; without 2, 4; move 1 substream (7) from 2 to 0",
        ),
        (
            Move(operator="a", reason="", transfers=(Transfer((1, 2, 3, 4, 5), 0, 1),)),
            "move 5 substreams (1, 2, 3, 4, ...) from 0 to 1",
        ),
        (Move(operator="a", reason="", transfers=()), "move nothing"),
        (Place(pool="a", reason="", locations={0: Location("x"), 1: Location("y")}), "place 0 on x, 1 on y"),
        (Regroup(operator="a", reason="", grouping="osg"), "group by osg"),
        (Fuse(operators=("a", "b", "c"), reason=""), "fuse a and b and c"),
        (Split(operators=("a", "c"), reason="", executors=2), "split a and c, 2 executors for each"),
    ],
)
def test_every_decision_has_words(decision, words):
    assert describe(decision) == words
