"""Queries that are made those of a plan, without Spark."""

import threading

import pytest

from rheostat.errors import PlantError
from rheostat.spark.act.query_fusion import UNFUSED, Arranger

PAIR = (("split", "count"),)
TOGETHER = {"split": "count", "count": "count"}
APART = {"split": "split", "count": "count"}


class FakeQueries:
    """Remembers what it was told; `error` is raised instead, once."""

    def __init__(self) -> None:
        self.fused: tuple[tuple[str, ...], ...] = ()
        self.told: list[tuple[tuple[str, ...], ...]] = []
        self.error: Exception | None = None
        self.may_end = threading.Event()
        self.may_end.set()

    def rearrange(self, fused):
        self.told.append(tuple(fused))
        self.may_end.wait()
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.fused = tuple(fused)


@pytest.fixture
def queries():
    return FakeQueries()


def test_what_is_wanted_is_made_real_beside_the_caller(queries):
    arranger = Arranger(queries)
    queries.may_end.clear()
    arranger.follow(PAIR, TOGETHER, 0.0)
    arranger.follow(PAIR, TOGETHER, 1.0)
    assert (queries.fused, arranger.differs_at(PAIR)) == ((), {"split", "count"})
    queries.may_end.set()
    arranger.close()
    assert (queries.fused, arranger.differs_at(PAIR), queries.told) == (PAIR, frozenset(), [PAIR])


def test_operators_are_fused_only_when_they_share_a_pool(queries):
    arranger = Arranger(queries)
    arranger.follow(PAIR, APART, 0.0)
    assert queries.told == []
    arranger.follow(PAIR, TOGETHER, 0.1)
    arranger.close()
    assert queries.told == [PAIR]


def test_the_order_in_which_a_group_is_named_is_no_difference(queries):
    queries.fused = PAIR
    arranger = Arranger(queries)
    arranger.follow((("count", "split"),), TOGETHER, 0.0)
    assert (queries.told, arranger.differs_at((("count", "split"),))) == ([], frozenset())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PlantError("'split' has had no batch yet"), "'split' has had no batch yet"),
        (OSError("disk full"), "the queries could not be changed: disk full"),
    ],
)
def test_what_stands_in_the_way_is_told_and_tried_again_after_a_while(queries, error, words):
    arranger = Arranger(queries)
    queries.error = error
    arranger.follow(PAIR, TOGETHER, 0.0)
    arranger.close()
    assert arranger.obstacle == words
    arranger.follow(PAIR, TOGETHER, 4.0)
    arranger.close()
    assert len(queries.told) == 1
    arranger.follow(PAIR, TOGETHER, 6.0)
    arranger.close()
    assert (len(queries.told), queries.fused, arranger.obstacle) == (2, PAIR, None)


def test_another_wish_is_tried_at_once_and_none_forgets_the_obstacle(queries):
    arranger = Arranger(queries)
    queries.error = PlantError("no")
    arranger.follow(PAIR, TOGETHER, 0.0)
    arranger.close()
    arranger.follow((), TOGETHER, 0.1)
    assert (arranger.obstacle, len(queries.told)) == (None, 1)


def test_queries_that_cannot_be_fused_say_so():
    arranger = Arranger(UNFUSED)
    arranger.follow(PAIR, TOGETHER, 0.0)
    arranger.close()
    assert arranger.obstacle == "these queries cannot be fused: split+count"
