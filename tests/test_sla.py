import pytest

from rheostat.errors import ConfigError, TopologyError
from rheostat.sla import MOST_EXECUTORS, SLA, Budget, Goal
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "t", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a"), Operator("c", inputs="b")]
)


def test_an_sla_is_a_latency_over_a_window() -> None:
    assert (SLA("2s", window="10s").latency_s, SLA("2s", window="10s").window_s) == (2.0, 10.0)
    assert SLA.parse("500ms/1m") == SLA("500ms", "1m")
    assert SLA.parse("2s").window_s == 10.0
    assert str(SLA("2s", "10s", path=["a", "b"])) == "2s over 10s along a -> b"


@pytest.mark.parametrize("text", ["", "2s/", "/10s", "2s/0s", "0s/10s", "fast/10s", "2s/10s/3s"])
def test_an_sla_that_cannot_be_read_is_refused(text: str) -> None:
    if text == "2s/":
        assert SLA.parse(text) == SLA("2s")
        return
    with pytest.raises(ConfigError):
        SLA.parse(text)


def test_an_sla_is_for_an_operator_or_a_path_and_not_for_both() -> None:
    with pytest.raises(ConfigError, match="not for both"):
        SLA("1s", operator="a", path=["a", "b"])


def test_an_sla_for_what_is_not_there_is_refused() -> None:
    with pytest.raises(TopologyError, match="no operator 'x'"):
        Goal(TOPOLOGY, (SLA("1s", operator="x"),))
    with pytest.raises(ConfigError, match="no stream leads from 'a' to 'c'"):
        Goal(TOPOLOGY, (SLA("1s", path=["a", "c"]),))


def test_a_goal_finds_its_slas() -> None:
    whole, part = SLA("1s"), SLA("200ms", operator="b")
    goal = Goal(TOPOLOGY, (part, whole))
    assert goal.end_to_end is whole
    assert goal.sla_of("b") is part
    assert goal.sla_of("a") is None


def test_a_budget_bounds_each_operator() -> None:
    budget = Budget(total=10, least={"a": 2}, most={"b": 4})
    assert (budget.minimum("a"), budget.maximum("b"), budget.maximum("a")) == (2, 4, 10)
    assert Budget().maximum("a") == MOST_EXECUTORS


@pytest.mark.parametrize(
    "wrong",
    [{"total": 0}, {"least": {"a": 0}}, {"most": {"a": -1}}, {"total": 1.5}, {"least": {"a": 3}, "most": {"a": 2}}],
)
def test_a_budget_of_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Budget(**wrong)  # type: ignore[arg-type]


def test_a_budget_below_what_the_operators_need_says_how_many_they_need() -> None:
    with pytest.raises(ConfigError, match="budget of 2 executors is below the 3"):
        Goal(TOPOLOGY, budget=Budget(total=2))
    with pytest.raises(TopologyError, match="no operator 'z'"):
        Goal(TOPOLOGY, budget=Budget(least={"z": 2}))
