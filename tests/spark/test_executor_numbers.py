from rheostat.snapshot import ExecutorPhase
from rheostat.spark.executor_numbers import Crew
from rheostat.spark.observe.status_store import ExecutorSummary


def see(crew: Crew, **busy_s: float) -> None:
    """Executors e1, e2, ... with what each has done since it started."""
    executors = [ExecutorSummary(id=name[1:], host_port=f"host-{name[1:]}:1", slots=1) for name in busy_s]
    crew.see(executors, {name[1:]: value for name, value in busy_s.items()})


def shown(crew: Crew) -> dict[int, tuple[str, str | None, float]]:
    states = crew.states("pool", {})
    return {state.id: (state.phase.value, state.instance, state.busy_s or 0.0) for state in states}


def test_executors_are_numbered_as_they_come_and_counted_from_then_on():
    crew = Crew()
    see(crew, e7=100.0, e9=50.0)
    see(crew, e7=103.0, e9=51.0)
    assert shown(crew) == {0: ("active", "7", 3.0), 1: ("active", "9", 1.0)}
    assert crew.complete
    assert crew.busy_s == 4.0


def test_a_wanted_number_without_an_executor_is_requested():
    crew = Crew()
    see(crew, e1=0.0)
    crew.want([0, 1])
    assert shown(crew)[1] == ("requested", None, 0.0)
    assert (crew.missing, crew.complete) == (1, False)
    see(crew, e1=1.0, e2=0.5)
    assert shown(crew) == {0: ("active", "1", 1.0), 1: ("active", "2", 0.0)}
    assert crew.complete


def test_a_number_that_is_not_wanted_leaves_and_is_forgotten_when_its_executor_is_gone():
    crew = Crew()
    see(crew, e1=0.0, e2=0.0)
    see(crew, e1=5.0, e2=4.0)
    crew.want([0])
    assert shown(crew)[1] == ("leaving", "2", 4.0)
    assert crew.leaving() == ("2",)
    assert not crew.complete
    see(crew, e1=6.0)
    assert list(shown(crew)) == [0]
    assert crew.complete
    assert crew.busy_s == 10.0


def test_a_replacement_goes_on_counting_where_the_dead_one_stopped():
    crew = Crew()
    see(crew, e1=0.0)
    crew.want([0])
    see(crew, e1=8.0)
    see(crew)
    assert shown(crew) == {0: ("requested", None, 8.0)}
    see(crew, e2=0.2)
    see(crew, e2=1.2)
    number, (phase, instance, busy_s) = next(iter(shown(crew).items()))
    assert (number, phase, instance) == (0, "active", "2")
    assert abs(busy_s - 9.0) < 1e-9


def test_an_executor_that_would_leave_takes_the_number_of_one_that_died():
    crew = Crew()
    see(crew, e1=0.0, e2=0.0, e3=0.0)
    crew.want([0, 1, 2])
    see(crew, e1=1.0, e3=7.0)
    crew.want([0, 1])
    assert shown(crew) == {0: ("active", "1", 1.0), 1: ("active", "3", 0.0)}
    assert crew.complete
    assert crew.busy_s == 8.0
    see(crew, e1=1.0, e3=9.0)
    assert shown(crew)[1] == ("active", "3", 2.0)


def test_an_executor_that_is_on_its_way_out_takes_no_other_number():
    crew = Crew()
    see(crew, e1=0.0, e2=0.0, e3=0.0)
    crew.want([0, 1, 2])
    see(crew, e1=1.0, e3=7.0)
    crew.want([0, 1], gone=["3"])
    assert shown(crew) == {0: ("active", "1", 1.0), 1: ("requested", None, 0.0), 2: ("leaving", "3", 7.0)}
    assert (crew.missing, crew.complete) == (1, False)


def test_a_counter_never_falls():
    crew = Crew()
    see(crew, e1=0.0)
    see(crew, e1=5.0)
    see(crew, e1=4.9)
    assert shown(crew)[0][2] == 5.0


def test_more_executors_than_wanted_leave():
    crew = Crew()
    crew.want([0])
    see(crew, e1=0.0, e2=0.0, e3=0.0)
    assert crew.leaving() == ("2", "3")
    assert crew.size == 3


def test_executors_are_shown_with_the_node_they_are_on():
    crew = Crew()
    see(crew, e1=0.0)
    [state] = crew.states("pool", {"host-1": "left"})
    assert (state.node, state.phase) == ("left", ExecutorPhase.ACTIVE)
