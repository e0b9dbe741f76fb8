import pytest
from compared_runs import compared_run

from rheostat.experiments.comparison.figures import entry_of


def test_means_and_confidence_intervals_are_those_computed_by_hand() -> None:
    entry = entry_of([compared_run(success=s, cost=c) for s, c in [(0.9, 100), (0.8, 130), (1.0, 100)]], {}, 50.0)
    success, ratio = entry.figures["success_rate"], entry.figures["cost_ratio"]
    assert success.mean == pytest.approx(0.9)
    assert success.half_width == pytest.approx(4.303 * 0.1 / 3**0.5)
    assert ratio.mean == pytest.approx(2.2)
    assert ratio.half_width == pytest.approx(4.303 * (2 * 0.2**2 / 2 + 0.4**2 / 2) ** 0.5 / 3**0.5)


def test_a_single_run_has_no_interval() -> None:
    assert entry_of([compared_run()], {}, None).figures["success_rate"].half_width is None


def test_a_figure_that_one_run_lacks_has_no_mean_and_there_is_no_ratio_without_a_reference() -> None:
    entry = entry_of([compared_run(), compared_run(success=None)], {}, None)
    assert "success_rate" not in entry.figures
    assert "cost_ratio" not in entry.figures
    assert entry.success == 0.0
