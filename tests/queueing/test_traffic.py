"""The traffic equations against matrix inversion and against series of round trips."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rheostat.errors import TopologyError
from rheostat.graph import spectral_radius
from rheostat.queueing.traffic import Route, arrival_rates


def test_a_chain_passes_its_rate_on_times_each_selectivity():
    routes = [Route("frames", "features", 30.0), Route("features", "matches", 0.1)]
    rates = arrival_rates(["frames", "features", "matches"], {"frames": 13.0}, routes)
    assert rates == {"frames": 13.0, "features": 390.0, "matches": 39.0}


def test_a_split_divides_and_a_join_adds_up():
    routes = [Route("a", "b", 0.25), Route("a", "c", 0.75), Route("b", "d"), Route("c", "d")]
    assert arrival_rates("abcd", {"a": 8.0, "d": 1.0}, routes) == {"a": 8.0, "b": 2.0, "c": 6.0, "d": 9.0}


def test_a_loop_to_itself_is_a_geometric_series():
    assert arrival_rates("a", {"a": 10.0}, [Route("a", "a", 0.2)])["a"] == pytest.approx(12.5, rel=1e-14)


def test_the_topology_of_drs_figure_2_feeds_back_from_its_last_operator():
    routes = [
        Route("A", "B", 0.5),
        Route("A", "C", 0.5),
        Route("C", "E"),
        Route("D", "E"),
        Route("B", "D"),
        Route("E", "A", 0.2),
    ]
    rates = arrival_rates("ABCDE", {"A": 10.0}, routes)
    assert rates == pytest.approx({"A": 12.5, "B": 6.25, "C": 6.25, "D": 6.25, "E": 12.5}, rel=1e-14)


def test_streams_between_the_same_operators_add_up():
    assert arrival_rates("ab", {"a": 10.0}, [Route("a", "b", 0.2), Route("a", "b", 0.3)])["b"] == 5.0


def test_an_operator_that_nothing_reaches_has_rate_zero():
    assert arrival_rates("ab", {"a": 10.0}, [])["b"] == 0.0


def test_two_loops_of_six_tenths_through_one_operator_are_refused_and_named_though_each_alone_is_not():
    first = [Route("in", "hub"), Route("hub", "left", 0.6), Route("left", "hub")]
    second = [Route("hub", "right", 0.6), Route("right", "hub"), Route("hub", "out")]
    names = ["in", "hub", "left", "right", "out"]
    assert arrival_rates(names, {"in": 1.0}, [*first, Route("hub", "out")])["out"] == pytest.approx(2.5)
    with pytest.raises(TopologyError, match=r"loop of hub, left and right never drains.* 1\.09545"):
        arrival_rates(names, {"in": 1.0}, first + second)


def test_a_loop_that_keeps_everything_is_refused_even_when_nothing_reaches_it():
    with pytest.raises(TopologyError, match="loop of b and c"):
        arrival_rates("abc", {"a": 1.0}, [Route("b", "c", 4.0), Route("c", "b", 0.25)])


def test_a_loop_to_itself_that_grows_is_named():
    with pytest.raises(TopologyError, match=r"loop of a with itself .* 1\.5"):
        arrival_rates("a", {"a": 1.0}, [Route("a", "a", 1.5)])


def test_ten_tenths_are_a_whole_though_they_add_up_to_less():
    assert sum([0.1] * 10) < 1.0
    with pytest.raises(TopologyError, match="loop of a with itself"):
        arrival_rates("a", {"a": 1.0}, [Route("a", "a", 0.1)] * 10)


@pytest.mark.parametrize(
    ("external", "routes", "message"),
    [
        ({"b": -1.0}, [], r"external rate -1\.0 of 'b'"),
        ({"count": 1.0}, [], "no operator 'count'; did you mean 'counts'"),
        ({}, [Route("a", "x")], "route from 'a' to 'x': there is no operator 'x'"),
        ({}, [Route("a", "b", -0.5)], r"share -0\.5 from 'a' to 'b'"),
        ({}, [Route("a", "b", float("inf"))], "share inf"),
    ],
)
def test_what_cannot_be_is_refused_by_name(external, routes, message):
    with pytest.raises(TopologyError, match=message):
        arrival_rates(["a", "b", "counts"], external, routes)


SHARES = st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.3, 0.5, 0.9, 1.0, 2.0])
MATRICES = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(SHARES, min_size=n, max_size=n), min_size=n, max_size=n).map(np.array)
)


@given(MATRICES, st.lists(st.floats(0.0, 100.0), min_size=7, max_size=7))
def test_any_topology_is_solved_like_one_linear_system_or_refused_by_its_spectral_radius(matrix, inflow):
    names = [f"o{i}" for i in range(len(matrix))]
    external = dict(zip(names, inflow, strict=False))
    routes = [Route(names[i], names[j], share) for (i, j), share in np.ndenumerate(matrix) if share > 0.0]
    radius = spectral_radius(matrix)
    assume(abs(radius - 1.0) > 1e-3)
    if radius > 1.0:
        with pytest.raises(TopologyError, match="never drains"):
            arrival_rates(names, external, routes)
    else:
        expected = np.linalg.solve(np.eye(len(matrix)) - matrix.T, inflow[: len(matrix)])
        solved = list(arrival_rates(names, external, routes).values())
        np.testing.assert_allclose(solved, expected, rtol=1e-9, atol=1e-9)


def test_ten_thousand_operators_in_a_chain_need_no_matrix():
    names = [f"o{i}" for i in range(10_000)]
    routes = [Route(a, b) for a, b in pairwise(names)]
    assert set(arrival_rates(names, {"o0": 3.0}, routes).values()) == {3.0}
