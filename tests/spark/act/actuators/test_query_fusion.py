"""Queries that are changed beside the reconciler, without Spark."""

import threading

import pytest

from rheostat.errors import PlantError
from rheostat.spark.act.actuators.query_fusion import QueryFusion

PAIR = (("split", "count"),)


class FakeQueries:
    """Remembers the requests; `error` is raised instead, once."""

    def __init__(self) -> None:
        self.requests: list[tuple[tuple[str, ...], ...]] = []
        self.error: Exception | None = None
        self.may_end = threading.Event()
        self.may_end.set()

    def rearrange(self, fused):
        self.requests.append(tuple(fused))
        self.may_end.wait()
        error, self.error = self.error, None
        if error is not None:
            raise error


@pytest.fixture
def queries():
    return FakeQueries()


def test_one_change_runs_at_a_time_beside_the_caller(queries):
    fusion = QueryFusion(queries)
    queries.may_end.clear()
    fusion.request(PAIR, 0.0)
    fusion.request(PAIR, 6.0)
    queries.may_end.set()
    fusion.close()
    assert queries.requests == [PAIR]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PlantError("'split' has had no batch yet"), "'split' has had no batch yet"),
        (OSError("disk full"), "the queries could not be changed: disk full"),
    ],
)
def test_a_change_that_fails_is_reported_and_tried_again_after_a_while(queries, error, words):
    fusion = QueryFusion(queries)
    queries.error = error
    fusion.request(PAIR, 0.0)
    fusion.close()
    with pytest.raises(PlantError, match=words):
        fusion.request(PAIR, 4.0)
    assert len(queries.requests) == 1
    with pytest.raises(PlantError, match=words):
        fusion.request(PAIR, 6.0)
    fusion.close()
    assert len(queries.requests) == 2
    fusion.request(PAIR, 7.0)


def test_another_change_is_tried_at_once(queries):
    fusion = QueryFusion(queries)
    queries.error = PlantError("no")
    fusion.request(PAIR, 0.0)
    fusion.close()
    fusion.request((), 0.1)
    fusion.close()
    assert queries.requests == [PAIR, ()]
