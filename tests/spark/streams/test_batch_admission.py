"""Batch admission: a query waits for input, and is held when it must stop."""

import threading

from rheostat.spark.streams.batch_admission import BatchAdmission


def test_a_batch_is_admitted_when_any_stream_of_the_query_has_input() -> None:
    admission = BatchAdmission()
    arrived = threading.Event()
    admission.watch(lambda: False)
    admission.watch(arrived.is_set)
    arrived.set()
    assert admission.wait_for_input()
    assert not admission.is_idle


def test_once_closed_no_batch_is_admitted_and_the_query_is_idle_when_it_asks() -> None:
    admission = BatchAdmission()
    admission.watch(lambda: True)
    admission.close()
    assert not admission.is_idle
    assert not admission.wait_for_input()
    assert admission.is_idle


def test_a_query_without_input_is_not_held_for_ever() -> None:
    assert BatchAdmission().wait_for_input()
