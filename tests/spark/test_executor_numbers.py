from rheostat.spark.executor_numbers import Crew
from rheostat.spark.state.executor_book import SparkExecutor


def see(crew: Crew, *ids: str) -> None:
    crew.see(SparkExecutor(id_, f"host-{id_}:1", 0, 1) for id_ in ids)


def shown(crew: Crew) -> dict[int, tuple[str, str | None]]:
    members = crew.book("pool").members()
    return {number: (phase.value, executor.id if executor else None) for _, number, phase, executor in members}


def test_executors_are_numbered_as_they_come():
    crew = Crew()
    see(crew, "7", "9")
    assert shown(crew) == {0: ("active", "7"), 1: ("active", "9")}
    assert crew.complete


def test_a_wanted_number_without_an_executor_is_requested():
    crew = Crew()
    see(crew, "1")
    crew.want([0, 1])
    assert shown(crew)[1] == ("requested", None)
    assert (crew.missing, crew.complete) == (1, False)
    see(crew, "1", "2")
    assert shown(crew) == {0: ("active", "1"), 1: ("active", "2")}
    assert crew.complete


def test_a_number_that_is_not_wanted_leaves_and_is_forgotten_when_its_executor_is_gone():
    crew = Crew()
    see(crew, "1", "2")
    crew.want([0])
    assert shown(crew)[1] == ("leaving", "2")
    assert crew.leaving() == ("2",)
    assert not crew.complete
    see(crew, "1")
    assert list(shown(crew)) == [0]
    assert crew.complete


def test_a_replacement_takes_the_number_of_the_dead_one():
    crew = Crew()
    see(crew, "1")
    crew.want([0])
    see(crew)
    assert shown(crew) == {0: ("requested", None)}
    see(crew, "2")
    assert shown(crew) == {0: ("active", "2")}


def test_an_executor_that_would_leave_takes_the_number_of_one_that_died():
    crew = Crew()
    see(crew, "1", "2", "3")
    crew.want([0, 1, 2])
    see(crew, "1", "3")
    crew.want([0, 1])
    assert shown(crew) == {0: ("active", "1"), 1: ("active", "3")}
    assert crew.complete


def test_an_executor_that_is_on_its_way_out_takes_no_other_number():
    crew = Crew()
    see(crew, "1", "2", "3")
    crew.want([0, 1, 2])
    see(crew, "1", "3")
    crew.want([0, 1], gone=["3"])
    assert shown(crew) == {0: ("active", "1"), 1: ("requested", None), 2: ("leaving", "3")}
    assert (crew.missing, crew.complete) == (1, False)


def test_more_executors_than_wanted_leave():
    crew = Crew()
    crew.want([0])
    see(crew, "1", "2", "3")
    assert crew.leaving() == ("2", "3")
    assert crew.size == 3
