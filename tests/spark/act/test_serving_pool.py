"""Which pool serves an operator while plans and queries change."""

import pytest

from rheostat.spark.act.serving_pool import Homes

POOL_OF = {"read": "read", "split": "split", "count": "count"}
FUSED = {"read": "read", "split": "count", "count": "count"}


class Queries:
    """The groups that share one now."""

    def __init__(self, *groups):
        self.groups = groups

    def __call__(self):
        return self.groups


def ready(*pools):
    return lambda pool: pool in pools


def test_at_first_every_operator_is_where_the_plan_has_it():
    homes = Homes(POOL_OF, Queries())
    assert homes.of_all() == POOL_OF
    assert homes.at("split") == ["split"]


def test_operators_that_still_share_a_query_are_in_one_pool_though_the_plan_has_them_apart():
    assert Homes(POOL_OF, Queries(("lines", "split", "count"))).of_all() == FUSED


def test_an_operator_that_is_to_be_fused_goes_to_the_pool_of_the_last_before_that():
    homes = Homes(POOL_OF, Queries())
    assert homes.move(FUSED, ready("count")) == ["split"]
    assert homes.of_all() == FUSED
    assert homes.move(FUSED, ready("count")) == []


def test_nobody_goes_where_nobody_serves():
    homes = Homes(POOL_OF, Queries())
    assert homes.move(FUSED, ready()) == []
    assert homes["split"] == "split"


def test_operators_that_are_to_be_split_stay_together_until_they_are():
    queries = Queries(("split", "count"))
    homes = Homes(FUSED, queries)
    assert homes.move(POOL_OF, ready("split", "count")) == []
    queries.groups = ()
    assert homes.move(POOL_OF, ready("split", "count")) == ["split"]
    assert homes.of_all() == POOL_OF


@pytest.mark.parametrize("groups", [(("read", "split"),), (("read", "split"), ("count",))])
def test_all_of_a_query_go_together(groups):
    homes = Homes({"read": "split", "split": "split", "count": "count"}, Queries(*groups))
    assert homes.move(dict.fromkeys(POOL_OF, "count"), ready("count")) == ["read", "split"]
