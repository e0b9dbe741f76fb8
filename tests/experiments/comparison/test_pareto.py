from hypothesis import given
from hypothesis import strategies as st

from rheostat.experiments.comparison.pareto import pareto_front

NUMBERS = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12))
def test_the_front_is_what_no_other_point_dominates(points: list[tuple[float, float]]) -> None:
    def dominated(point: tuple[float, float]) -> bool:
        return any(cost <= point[0] and success >= point[1] and (cost, success) != point for cost, success in points)

    front = pareto_front(points)
    assert sorted(front) == [place for place, point in enumerate(points) if not dominated(point)]
    assert [points[place][0] for place in front] == sorted(points[place][0] for place in front)
