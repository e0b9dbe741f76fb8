from rheostat.spark.draining import Farewell


class FakeAllocation:
    """Logs what it is told; `jobs` are under way."""

    def __init__(self, *jobs: int) -> None:
        self.jobs = frozenset(jobs)
        self.log: list[tuple[str, tuple[str, ...]]] = []

    def active_jobs(self) -> frozenset[int]:
        return self.jobs

    def decommission(self, ids) -> None:
        self.log.append(("no more tasks", tuple(ids)))

    def kill(self, ids) -> None:
        self.log.append(("kill", tuple(ids)))


def test_an_executor_ends_when_the_jobs_are_over_that_may_need_it():
    allocation = FakeAllocation(1, 2)
    farewell = Farewell(allocation)
    farewell.say(["a"], 0.0)
    allocation.jobs = frozenset({2, 3})
    farewell.say(["a"], 1.0)
    assert allocation.log == [("no more tasks", ("a",))]
    allocation.jobs = frozenset({3, 4})
    farewell.say(["a", "b"], 2.0)
    assert allocation.log[1:] == [("no more tasks", ("b",)), ("kill", ("a",))]
    assert farewell.leaving == {"a", "b"}


def test_it_never_ends_at_once_even_if_no_job_is_listed():
    allocation = FakeAllocation()
    farewell = Farewell(allocation)
    farewell.say(["a"], 0.0)
    assert allocation.log == [("no more tasks", ("a",))]
    farewell.say(["a"], 0.1)
    assert allocation.log[-1] == ("kill", ("a",))


def test_a_job_that_does_not_end_holds_nobody_for_ever():
    allocation = FakeAllocation(1)
    farewell = Farewell(allocation)
    farewell.say(["a"], 0.0)
    farewell.say(["a"], 60.0)
    assert len(allocation.log) == 1
    farewell.say(["a"], 60.1)
    assert allocation.log[-1] == ("kill", ("a",))


def test_one_that_has_gone_is_forgotten():
    farewell = Farewell(FakeAllocation())
    farewell.say(["a"], 0.0)
    farewell.say([], 1.0)
    assert farewell.leaving == frozenset()
