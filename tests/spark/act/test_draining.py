"""Executors that leave, without Spark."""

import pytest
from sites import ACTIVE, WARM, executors, phases, pool_plan, see, serving, want

from rheostat.spark.act.draining import DRAIN_TIMEOUT_S, STARVED_DRAIN_TIMEOUT_S, drain_timeout_s, drained, total
from rheostat.spark.act.executor_numbers import note_registered


def drained_at_the_second_look(book, routed=frozenset(), work=frozenset()):
    """The first look never finds an executor drained."""
    assert drained(book, routed, work, 1.0) == ()
    return drained(book, routed, work, 2.0)


def test_as_many_are_requested_as_serve_and_stand_by():
    book = serving("a", standby=1)
    want(book, pool_plan(0, 1, standby=1))
    assert total(book) == 3
    see(book, "a")
    assert total(book) == 3


def test_an_executor_has_drained_when_it_gets_no_work_and_the_jobs_from_before_are_over():
    book = serving("a", "b")
    want(book, pool_plan(0))
    assert total(book) == 2
    assert drained(book, {"a", "b"}, frozenset({"job 7"}), 1.0) == ()
    assert drained(book, {"a"}, frozenset({"job 7"}), 2.0) == ()
    assert drained(book, {"a"}, frozenset({"job 7", "job 8"}), 3.0) == ()
    assert drained(book, {"a"}, frozenset({"job 8", "job 9"}), 4.0) == ()
    assert total(book) == 2
    assert drained(book, {"a"}, frozenset({"job 9"}), 5.0) == ("b",)
    assert total(book) == 1


def test_between_two_jobs_of_a_batch_an_executor_has_not_drained():
    book = serving("a", "b")
    want(book, pool_plan(0))
    batch, next_batch = "batch of count after 0", "batch of count after 1"
    looks = [
        drained(book, {"a"}, frozenset(work), time_s)
        for time_s, work in enumerate((["job 7", batch], ["job 7", batch], [batch], ["job 8", batch], [next_batch]))
    ]
    assert looks == [(), (), (), (), ("b",)]


def test_a_job_that_never_ends_does_not_keep_an_executor_for_ever():
    book = serving("a", "b")
    want(book, pool_plan(0))
    looks = [drained(book, {"a"}, frozenset({"job 7"}), time_s) for time_s in (0.0, 1.0, 60.0, 61.0)]
    assert looks == [(), (), (), ("b",)]


def test_a_pool_without_an_executor_shortens_the_draining_of_others_because_its_jobs_wait_for_their_place():
    leaving, starved = serving("a", "b"), serving("c")
    want(leaving, pool_plan(0))
    assert drain_timeout_s([leaving, starved]) == DRAIN_TIMEOUT_S
    see(starved)
    timeout_s = drain_timeout_s([leaving, starved])
    assert timeout_s == STARVED_DRAIN_TIMEOUT_S
    looks = [drained(leaving, {"a"}, frozenset({"job 7"}), time_s, timeout_s) for time_s in (0.0, 1.0, 5.0, 5.5)]
    assert looks == [(), (), (), ("b",)]


def test_one_that_was_busy_when_it_was_to_end_is_named_again():
    book = serving("a", "b")
    want(book, pool_plan(0))
    assert drained_at_the_second_look(book, {"a"}) == ("b",)
    assert drained(book, {"a"}, frozenset(), 3.0) == ("b",)


def test_one_that_is_wanted_again_before_it_ends_is_counted_again():
    book = serving("a", "b")
    want(book, pool_plan(0))
    assert drained_at_the_second_look(book, {"a"}) == ("b",)
    want(book, pool_plan(0, 1))
    assert drained(book, {"a", "b"}, frozenset(), 3.0) == ()
    assert total(book) == 2


def test_a_drained_executor_stands_by_when_a_standby_is_wanted():
    book = serving("a", "b")
    want(book, pool_plan(0, standby=1))
    assert drained_at_the_second_look(book, {"a"}) == ()
    assert phases(book) == [(-1, WARM, "b"), (0, ACTIVE, "a")]
    assert book.is_settled


def test_none_is_requested_in_place_of_those_that_are_about_to_stand_by():
    book = serving("a", "b", "c", "d")
    want(book, pool_plan(0, standby=2))
    assert total(book) == 4  # two of the three leaving ones will stand by, the third counts while it drains
    assert len(drained_at_the_second_look(book, {"a"})) == 1
    assert [phase for _, phase, _ in phases(book)].count(WARM) == 2


def test_a_pool_that_is_kept_whole_needs_no_new_executor():
    book = serving("a", standby=2)
    want(book, pool_plan(0, 1, 2))
    assert (total(book), [phase for _, phase, _ in phases(book)]) == (3, [ACTIVE] * 3)
    want(book, pool_plan(0, standby=2))
    assert total(book) == 3


@pytest.mark.parametrize(("standby", "ending"), [(1, ("x",)), (0, ("s0", "x"))])
def test_surplus_executors_end_the_newest_first(standby, ending):
    book = serving("a", standby=1)
    note_registered(book, executors("a", "s0", "x"), ())
    book.wanted = pool_plan(0, standby=standby)
    assert drained(book, {"a"}, frozenset(), 1.0) == ending
