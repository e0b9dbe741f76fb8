"""Numbers of a plan and executors of a site, without Spark."""

import msgspec
import pytest
from sites import (
    ACTIVE,
    LEAVING,
    REQUESTED,
    STARTING,
    executor,
    executors,
    ids,
    phases,
    pool_plan,
    see,
    serving,
    want,
)

from rheostat.spark.act.executor_numbers import owners
from rheostat.spark.state.executor_book import SiteBook


def test_executors_that_have_not_registered_are_listed_as_requested():
    book = SiteBook(pool_plan(0, 1, standby=1))
    see(book)
    assert phases(book) == [(0, REQUESTED, None), (1, REQUESTED, None)]
    assert not book.is_settled


def test_the_first_executor_serves_at_once_since_no_other_does():
    book = SiteBook(pool_plan(0, 1))
    see(book, "a")
    assert phases(book) == [(0, ACTIVE, "a"), (1, REQUESTED, None)]


def test_at_a_new_site_the_first_executor_serves_only_when_it_is_warm():
    book = SiteBook(pool_plan(0), may_serve_cold=False)
    see(book, "a")
    assert phases(book) == [(0, STARTING, "a")]
    see(book, "a", warm=("a",))
    assert phases(book) == [(0, ACTIVE, "a")]


def test_an_executor_that_joins_others_is_warmed_up_before_it_serves():
    book = serving("a")
    want(book, pool_plan(0, 1))
    see(book, "a", "b")
    assert phases(book) == [(0, ACTIVE, "a"), (1, STARTING, "b")]
    assert ids(book.serving) == ["a"]
    see(book, "a", "b", warm=("b",))
    assert phases(book) == [(0, ACTIVE, "a"), (1, ACTIVE, "b")]
    assert book.is_settled


def test_a_standby_gets_a_new_number_at_once():
    book = serving("a", standby=1)
    assert ids(book.serving) == ["a"]
    want(book, pool_plan(0, 1, standby=1))
    assert phases(book) == [(0, ACTIVE, "a"), (1, ACTIVE, "s0")]
    assert book.serves_as_wanted
    assert not book.is_settled


def test_the_number_of_a_dead_executor_goes_to_a_standby():
    book = serving("a", "b", standby=1)
    see(book, "b", "s0")
    assert phases(book) == [(0, ACTIVE, "s0"), (1, ACTIVE, "b")]


def test_the_substreams_of_a_dead_executor_are_shared_out_until_it_is_replaced():
    book = serving("a", "b", "c")
    wanted = (0, 0, 0, 1, 2, 2)
    before = ids(owners(book, wanted, ()))
    assert before == ["a", "a", "a", "b", "c", "c"]
    see(book, "b", "c")
    meanwhile = ids(owners(book, wanted, before))
    assert meanwhile == ["b", "b", "c", "b", "c", "c"]
    see(book, "b", "c", "d", warm=("d",))
    assert ids(owners(book, wanted, meanwhile)) == ["d", "d", "d", "b", "c", "c"]


def test_a_substream_stays_where_it_is_until_its_new_executor_serves():
    book = serving("a")
    want(book, pool_plan(0, 1))
    see(book, "a", "b")
    assert ids(owners(book, (0, 1), ("a", "a"))) == ["a", "a"]
    see(book, "a", "b", warm=("b",))
    assert ids(owners(book, (0, 1), ("a", "a"))) == ["a", "b"]


def test_a_leaving_executor_keeps_its_substreams_until_their_new_executor_serves():
    book = serving("a")
    want(book, pool_plan(1))
    assert phases(book) == [(1, ACTIVE, "a")]
    book = serving("a", "b")
    want(book, pool_plan(0))
    assert phases(book) == [(0, ACTIVE, "a"), (1, LEAVING, "b")]
    book.wanted = pool_plan(0, 5)
    assert ids(owners(book, (0, 5), ("a", "b"))) == ["a", "b"]


def test_the_substreams_of_an_executor_that_there_is_no_room_for_are_shared_out():
    book = serving("a", "b")
    want(book, pool_plan(0))
    assert phases(book) == [(0, ACTIVE, "a"), (1, LEAVING, "b")]
    assert ids(owners(book, (0, 1), ("a", "b"))) == ["a", "a"]


def test_no_executor_has_a_substream_while_none_serves():
    book = SiteBook(pool_plan(0))
    assert owners(book, (0, 0), ()) == ()
    assert book.serving == []


def test_a_leaving_executor_that_is_wanted_again_stays():
    book = serving("a", "b")
    want(book, pool_plan(0))
    want(book, pool_plan(0, 1))
    assert book.is_settled
    want(book, pool_plan(0))
    want(book, pool_plan(0, 2))
    assert phases(book) == [(0, ACTIVE, "a"), (2, ACTIVE, "b")]


def test_a_decommissioned_executor_never_serves_again():
    book = serving("a", "b", can_route=False)
    want(book, pool_plan(0), can_route=False)
    book.members["b"].decommissioned = True
    want(book, pool_plan(0, 1), can_route=False)
    assert phases(book) == [(-1, LEAVING, "b"), (0, ACTIVE, "a"), (1, REQUESTED, None)]
    assert ids(owners(book, (1, 1), ("b", "b"))) == ["a", "a"]
    see(book, "a", "b", "c", can_route=False)
    assert phases(book) == [(-1, LEAVING, "b"), (0, ACTIVE, "a"), (1, ACTIVE, "c")]


def test_where_work_cannot_be_routed_executors_without_a_number_drain():
    book = SiteBook(pool_plan(0))
    see(book, "a", "b", can_route=False)
    assert phases(book) == [(-1, LEAVING, "b"), (0, ACTIVE, "a")]


def test_a_serving_executor_is_lost_when_it_dies_and_not_when_it_was_told_to_end():
    for member, ending, lost in (("b", False, True), ("b", True, False), ("s0", False, False)):
        book = serving("a", "b", standby=1)
        book.members[member].ending = ending
        see(book, *({"a", "b", "s0"} - {member}))
        assert book.lost_member is lost


@pytest.mark.parametrize(
    ("host_port", "host"), [("127.0.0.2:4000", "127.0.0.2"), ("127.0.0.2", "127.0.0.2"), ("[::1]:80", "[::1]")]
)
def test_the_host_of_an_executor_is_known_before_its_port(host_port, host):
    found = msgspec.structs.replace(executor("7"), host_port=host_port)
    assert found.host == host
    assert found.location == f"executor_{host}_7"


def test_a_copy_of_a_book_can_be_changed_without_changing_the_book():
    book = serving(*ids(executors("a", "b")))
    other = book.copy()
    want(other, pool_plan(0))
    see(other, "a")
    assert phases(book) == [(0, ACTIVE, "a"), (1, ACTIVE, "b")]
