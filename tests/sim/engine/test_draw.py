"""Walker's tables say exactly what the weights say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rheostat.sim.engine.draw import alias_table


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200).filter(lambda weights: sum(weights) > 1e-3))
def test_an_alias_table_gives_every_value_its_weight(weights):
    probability, other = alias_table(np.array(weights))
    given_by_cell = np.bincount(other, weights=1 - probability, minlength=len(weights)) + probability
    expected = np.array(weights) / sum(weights)
    assert np.allclose(given_by_cell / len(weights), expected, atol=1e-12)
    assert np.all((probability >= 0) & (probability <= 1))


def test_a_value_of_no_weight_is_never_given():
    probability, other = alias_table(np.array([0.0, 3.0, 0.0, 1.0]))
    assert probability[0] == probability[2] == 0
    assert set(other[[0, 2]]) <= {1, 3}
