"""The fit of start-ups: recovers start, warm-up and how many start at once."""

import numpy as np
import pytest

from rheostat.errors import ConfigError
from rheostat.experiments.calibration.measurements import ExecutorStarts
from rheostat.experiments.calibration.start_fit import fit_starts


def starts(start_s: float, warm_up_s: float, at_once: int, counts: tuple[int, ...], noise_s: float = 0.0) -> list:
    rng = np.random.default_rng(3)
    made = []
    for count in counts:
        registered = [start_s * (place // at_once + 1) + noise_s * rng.random() for place in range(count)]
        served = [each + warm_up_s + noise_s * rng.random() for each in registered]
        made.append(ExecutorStarts(registered_s=tuple(registered), served_s=tuple(served)))
    return made


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_exact_starts_are_recovered(at_once: int) -> None:
    fit = fit_starts(starts(5.0, 3.0, at_once, (1, 2, 4)))
    assert fit.start.value == pytest.approx(5.0)
    assert fit.warm_up.value == pytest.approx(3.0)
    assert fit.at_once == at_once


def test_noisy_starts_are_recovered() -> None:
    fit = fit_starts(starts(5.0, 3.0, 2, (1, 2, 4, 6), noise_s=0.5))
    assert fit.start.value == pytest.approx(5.25, rel=0.1)
    assert fit.warm_up.value == pytest.approx(3.25, rel=0.2)
    assert fit.at_once == 2


def test_all_at_once_is_no_limit() -> None:
    fit = fit_starts(starts(4.0, 0.0, 10, (1, 3)))
    assert (fit.start.value, fit.warm_up.value, fit.at_once) == (pytest.approx(4.0), pytest.approx(0.0), None)


def test_a_single_start_has_no_interval() -> None:
    fit = fit_starts(starts(4.0, 2.0, 1, (1,)))
    assert fit.start.value == pytest.approx(4.0)
    assert fit.start.half_width is None
    assert fit.at_once is None


def test_the_warm_up_is_never_negative() -> None:
    fit = fit_starts([ExecutorStarts(registered_s=(3.0, 3.0), served_s=(3.0, 30.0))])
    assert fit.warm_up.value >= 0.0
    assert fit.start.value > 3.0


def test_without_a_start_it_says_what_to_give() -> None:
    with pytest.raises(ConfigError, match=r"no executor was started after the first ones.*--executors 1,2,4"):
        fit_starts([])
