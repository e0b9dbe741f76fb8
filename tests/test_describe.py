import pytest

from rheostat.decision import Fuse, Hold, Location, Move, Place, Regroup, Scale, Split, Transfer
from rheostat.describe import describe, executors


def test_one_is_singular():
    assert (executors(1), executors(3.0)) == ("1 executor", "3 executors")


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (None, "hold"),
        (Hold(operator="a", reason=""), "hold"),
        (Scale(operator="a", reason="", executors=3), "scale to 3 executors"),
        (
            Scale(operator="a", reason="", executors=3, standby=2),
            "scale to 3 executors; keep 2 warm besides",
        ),
        (
            Scale(operator="a", reason="", executors=1, leaving=(2, 4), moves=(Transfer((7,), 2, 0),)),
            "scale to 1 executor; without 2, 4; move 1 substream (7) from 2 to 0",
        ),
        (
            Move(operator="a", reason="", moves=(Transfer((1, 2, 3, 4, 5), 0, 1),)),
            "move 5 substreams (1, 2, 3, 4, ...) from 0 to 1",
        ),
        (Move(operator="a", reason="", moves=()), "move nothing"),
        (Place(operator="a", reason="", locations={0: Location("x"), 1: Location("y")}), "place 0 on x, 1 on y"),
        (Regroup(operator="a", reason="", grouping="osg"), "group by osg"),
        (Fuse(operator="c", reason="", others=("a", "b")), "fuse a and b with it"),
        (Split(operator="c", reason="", executors=2), "split it from what it is fused with, 2 executors for each"),
    ],
)
def test_every_decision_has_words(decision, words):
    assert describe(decision) == words
