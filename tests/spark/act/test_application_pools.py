"""The executors of an application that is attached to, with a cluster manager that only counts."""

from types import SimpleNamespace

import pytest

from rheostat.clock import ManualClock
from rheostat.spark.act import application_pools
from rheostat.spark.act.application_pools import DefaultPool
from rheostat.spark.state.executor_book import SparkExecutor
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("app", [Source("queries"), Operator("application", inputs="queries")])


class Allocation:
    """Executors by profile, and the requests for them."""

    def __init__(self, application):
        self._application, self.requests, self.last_request = application, [], {}

    def executors(self):
        profiles = [profile for profile, count in self._application.registered.items() for _ in range(count)]
        return tuple(SparkExecutor(str(n), "host:1", profile, 1) for n, profile in enumerate(profiles))

    def work_under_way(self):
        return frozenset()

    def request(self, totals):
        self.requests.append(dict(totals))
        self.last_request = dict(totals)


class Control:
    """Dynamic allocation with `targets`, or none."""

    has_ended = False

    def __init__(self, application, owner):
        self._application = application
        self.had_dynamic_allocation = False

    def take_over(self):
        self.had_dynamic_allocation = self._application.targets is not None
        return self._application.targets or {}

    def hand_back(self, targets):
        self._application.handed_back = dict(targets)


class Application:
    def __init__(self, registered=0, targets=None, master="spark://host:7077", others=None, **settings):
        self.registered, self.targets = {0: registered, **(others or {})}, targets
        named = {name.replace("_", "."): str(value) for name, value in settings.items()}
        conf = SimpleNamespace(get=named.get, contains=named.__contains__)
        self.sparkContext = SimpleNamespace(master=master, getConf=lambda: conf)


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    monkeypatch.setattr(application_pools, "AllocationClient", Allocation)
    monkeypatch.setattr(application_pools, "ExecutorControl", Control)
    monkeypatch.setattr(application_pools, "executor_size", lambda it: None)
    monkeypatch.setattr(application_pools, "StandaloneRoom", lambda it, size: None)
    monkeypatch.setattr(application_pools, "has_dynamic_allocation", lambda it: it.targets is not None)


def start(application, least=1, *, take_over=True):
    """The pool, its size at first, and what was requested for that."""
    pool = DefaultPool(application, TOPOLOGY, take_over=take_over)
    clock = ManualClock()
    size = pool.starting_size(least, clock)
    return pool, size.update(pool.size, clock.now()), pool._allocation.requests


def test_executors_that_were_asked_for_and_have_not_registered_count_and_nothing_is_requested():
    pool, size, requests = start(Application(0, spark_executor_instances=3))
    assert (pool.size, size, requests) == (0, 3, [])


def test_what_spark_gave_beyond_what_was_asked_for_stays():
    _, size, requests = start(Application(6, spark_executor_instances=3))
    assert (size, requests) == (6, [])


def test_without_a_number_it_is_what_is_granted_when_it_settles():
    _, size, requests = start(Application(4))
    assert (size, requests) == (4, [])


def test_cores_max_says_how_many_were_asked_for():
    _, size, requests = start(Application(0, spark_cores_max=5, spark_executor_cores=2))
    assert (size, requests) == (2, [])


def test_between_two_batches_dynamic_allocation_wants_fewer_than_there_are_and_they_stay():
    pool, size, requests = start(Application(3, targets={0: 0, 5: 2}))
    assert (size, requests) == (3, [{0: 3, 5: 2}])
    assert pool.stopped_dynamic_allocation


def test_dynamic_allocations_target_counts_before_its_executors_register():
    assert start(Application(1, targets={0: 4}))[1:] == (4, [{0: 4}])


def test_fewer_than_the_least_are_asked_for_more():
    _, size, requests = start(Application(2, others={7: 1}, spark_executor_instances=2), least=5)
    assert (size, requests) == (5, [{0: 5, 7: 1}])


@pytest.mark.parametrize("targets", [None, {0: 8}])
def test_a_dry_run_requests_nothing_and_waits_for_nothing(targets):
    pool, size, requests = start(Application(3, targets=targets), least=5, take_over=False)
    assert (size, requests) == (3, [])
    assert not pool.stopped_dynamic_allocation


def test_a_later_attachment_starts_from_what_the_last_one_requested():
    application = Application(2, spark_executor_instances=2)
    pool, _, _ = start(application)
    pool._allocation.request({0: 1})
    pool.close()
    application.registered[0] = 1
    assert start(application)[1:] == (1, [])


def test_an_application_that_has_ended_shows_what_it_had_last(monkeypatch):
    application = Application(3, spark_executor_instances=3)
    pool, _, _ = start(application)
    assert len(pool.view(()).executors) == 3
    monkeypatch.setattr(Control, "has_ended", True)
    application.registered = None
    assert len(pool.view(()).executors) == 3


def test_dynamic_allocation_gets_back_the_executors_there_are():
    application = Application(3, targets={0: 0, 5: 2})
    pool, _, _ = start(application)
    pool.close()
    assert application.handed_back == {0: 3, 5: 2}
