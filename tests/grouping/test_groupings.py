"""Round robin, by key, load-aware and batch-greedy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.grouping import BatchGreedy, KeyGrouping, LoadAware, RoundRobin, check
from rheostat.grouping.check import NAMES
from rheostat.topology import Operator, Source, Topology

ANY = np.zeros(6, dtype=np.int64)


def test_round_robin_goes_on_where_it_stopped():
    turns = RoundRobin(3)
    assert [turns.choose() for _ in range(4)] == [0, 1, 2, 0]
    assert turns.assign(ANY).tolist() == [1, 2, 0, 1, 2, 0]
    assert turns.choose() == 1


def test_by_key_equal_values_meet():
    grouping = KeyGrouping(4)
    values = np.array([5, 1, 9, -1, 2**40])
    assert grouping.assign(values).tolist() == [grouping.choose(int(value)) for value in values] == [1, 1, 1, 3, 0]


@pytest.mark.parametrize("bad", [0, -1, 2.0, True])
@pytest.mark.parametrize("make", [RoundRobin, KeyGrouping, lambda k: LoadAware(k, 1.0)])
def test_no_executors_is_refused(make, bad):
    with pytest.raises(ConfigError, match=r"records cannot go to .* executors"):
        make(bad)


def aware(utilisation, service_s, interval_s=1.0):
    grouping = LoadAware(len(utilisation), interval_s)
    grouping.read(utilisation, service_s)
    return grouping


def test_load_aware_fills_the_least_utilised_first_and_the_first_executor_counts_too():
    grouping = aware([0.25, 0.5, 0.75], [0.125, 0.125, 0.125])
    assert [grouping.choose() for _ in range(5)] == [0, 0, 0, 1, 0]


def test_load_aware_uses_each_executors_own_service_time():
    """The slow one reaches the other's utilisation with its first record."""
    assert aware([0.0, 0.125], [0.5, 0.125]).assign(ANY[:4]).tolist() == [0, 1, 1, 1]


def test_load_aware_goes_round_robin_when_all_are_full_or_all_are_equal():
    assert aware([1.0, 1.5, 1.0], [0.1] * 3).assign(ANY).tolist() == [0, 1, 2, 0, 1, 2]
    assert aware([0.4, 0.4, 0.4], [0.1] * 3).assign(ANY).tolist() == [0, 1, 2, 0, 1, 2]
    assert LoadAware(3, 1.0).assign(ANY).tolist() == [0, 1, 2, 0, 1, 2]


def test_load_aware_goes_round_robin_once_it_has_made_all_equal():
    assert aware([0.25, 0.5], [0.25, 0.25]).assign(ANY[:4]).tolist() == [0, 0, 1, 0]


def test_a_record_counts_for_its_share_of_the_interval():
    """et/td of equation 1: a quarter of a second is half of an interval of half a second."""
    assert aware([0.0, 0.5], [0.25, 0.25], interval_s=0.5).assign(ANY[:4]).tolist() == [0, 0, 1, 0]
    assert aware([0.0, 0.5], [0.25, 0.25], interval_s=1.0).assign(ANY[:4]).tolist() == [0, 0, 0, 1]


def test_an_executor_not_yet_measured_counts_as_the_mean_of_the_others():
    grouping = aware([0.5, 0.7, 0.0], [0.25, 0.25, None])
    assert grouping.assign(ANY[:4]).tolist() == [0, 2, 1, 0]


def test_utilisation_follows_the_readings_by_half_in_each_interval():
    grouping = aware([0.0, 0.5], [0.25, 0.25])
    assert grouping.choose() == 0
    grouping.read([0.9, 0.5], [0.25, 0.25])
    assert grouping.choose() == 0, "0.45 against 0.5"
    grouping.read([0.9, 0.5], [0.25, 0.25])
    assert grouping.choose() == 1, "0.675 against 0.5"


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1.2), st.floats(1e-3, 0.5)), min_size=1, max_size=6),
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
)
def test_load_aware_assigns_many_as_it_chooses_one_by_one(executors, batches):
    used, times = zip(*executors, strict=True)
    one_by_one, at_once = aware(used, times), aware(used, times)
    for size in batches:
        chosen = [one_by_one.choose() for _ in range(size)]
        assert at_once.assign(np.zeros(size, dtype=np.int64)).tolist() == chosen


def test_load_aware_refuses_readings_of_another_number_of_executors():
    with pytest.raises(ConfigError, match="2 values for 3 executors"):
        LoadAware(3, 1.0).read([0.1, 0.2], [0.1, 0.1, 0.1])
    with pytest.raises(ConfigError, match="interval 0"):
        LoadAware(3, 0)


class Exact:
    """Value v takes v seconds."""

    def seconds(self, values):
        return np.asarray(values, dtype=float)


def test_a_whole_batch_is_filled_up_from_the_longest_record_on():
    """Online, the 6 would come last on top of 3 + 3 or so; known before, it stands alone."""
    values = np.array([2, 2, 2, 6])
    assert BatchGreedy(2, Exact()).assign(values).tolist() == [1, 1, 1, 0]


def test_an_empty_batch_is_no_problem():
    empty = np.zeros(0, dtype=np.int64)
    for grouping in (RoundRobin(2), KeyGrouping(2), LoadAware(2, 1.0), BatchGreedy(2, Exact())):
        assert grouping.assign(empty).tolist() == []


TOPOLOGY = Topology(
    "t",
    [
        Source("in"),
        Operator("stateless", inputs="in"),
        Operator("keyed", inputs="stateless", key="k"),
        Operator("partial", inputs="stateless", key="k", merge="sum"),
        Operator("sum", inputs=("keyed", "partial"), key="k"),
    ],
)


@pytest.mark.parametrize("grouping", NAMES)
def test_stateless_operators_and_those_with_a_merge_behind_may_be_grouped_in_any_way(grouping):
    check(TOPOLOGY, "stateless", grouping)
    check(TOPOLOGY, "partial", grouping)


@pytest.mark.parametrize("grouping", sorted(set(NAMES) - {"key"}))
def test_a_keyed_operator_without_a_merge_is_grouped_by_its_key_alone(grouping):
    check(TOPOLOGY, "keyed", "key")
    with pytest.raises(ConfigError, match=f"'keyed' is keyed by 'k' and nothing merges behind it, so '{grouping}'"):
        check(TOPOLOGY, "keyed", grouping)


def test_an_unknown_grouping_is_refused_with_the_one_that_was_meant():
    with pytest.raises(ConfigError, match=r"no grouping is called 'round robin'; did you mean 'round-robin'\?"):
        check(TOPOLOGY, "stateless", "round robin")
