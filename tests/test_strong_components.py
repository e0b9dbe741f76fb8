import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from rheostat import graph

GRAPHS = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), unique=True, max_size=4), min_size=n, max_size=n)
)


@given(GRAPHS)
def test_components_are_those_of_networkx(successors):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(successors)))
    graph.add_edges_from((node, to) for node, onward in enumerate(successors) for to in onward)
    expected = {frozenset(component) for component in nx.strongly_connected_components(graph)}
    assert {frozenset(component) for component in strong_components(successors)} == expected


@given(GRAPHS)
def test_each_component_comes_after_all_that_it_leads_to(successors):
    place = {node: i for i, component in enumerate(strong_components(successors)) for node in component}
    assert all(place[to] <= place[node] for node, onward in enumerate(successors) for to in onward)


def strong_components(successors):
    return list(graph.strong_components(dict(enumerate(successors))))


def test_a_chain_of_twenty_thousand_does_not_exhaust_the_stack():
    chain = [[node + 1] for node in range(19_999)] + [[]]
    assert len(strong_components(chain)) == 20_000


def test_a_ring_is_one_component():
    assert [sorted(component) for component in strong_components([[1], [2], [0]])] == [[0, 1, 2]]
