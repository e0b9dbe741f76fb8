import numpy as np
import pytest

from rheostat.spark.observe.operators.variability import ArrivalVariability, ServiceVariability
from rheostat.spark.query.per_record.timings import Timings


def test_poisson_arrivals_have_one_whatever_the_lengths_of_the_intervals():
    random = np.random.default_rng(7)
    arrivals = ArrivalVariability(size=4000)
    for duration_s in random.uniform(0.5, 3.0, 4000):
        arrivals.add(duration_s, int(random.poisson(50 * duration_s)))
    found = arrivals.scv()
    assert found is not None
    assert found == pytest.approx(1.0, abs=4 * np.sqrt(2 / 4000))  # four standard errors of a chi-square mean


def test_arrivals_in_bulks_have_the_size_of_the_bulks():
    random = np.random.default_rng(7)
    arrivals = ArrivalVariability(size=4000)
    for _ in range(4000):
        arrivals.add(1.0, 10 * int(random.poisson(20)))
    assert arrivals.scv() == pytest.approx(10.0, rel=4 * np.sqrt(2 / 4000) + 0.03)


def test_only_the_last_intervals_count_and_few_say_nothing():
    arrivals = ArrivalVariability(size=8)
    for rows in (1, 1000, 1, 1000, *[5] * 7):
        arrivals.add(1.0, rows)
    assert ArrivalVariability().scv() is None
    assert arrivals.scv() is not None
    arrivals.add(1.0, 5)
    assert arrivals.scv() == 0.0


def test_service_times_vary_as_their_new_samples_do():
    service = ServiceVariability()
    assert service.update(Timings(sampled=100, sampled_s=100.0, sampled_s2=150.0)) == pytest.approx(0.5)
    few = Timings(sampled=104, sampled_s=400.0, sampled_s2=9000.0)
    assert service.update(few) == pytest.approx(0.5), "four samples say nothing"
    more = Timings(sampled=114, sampled_s=410.0, sampled_s2=9010.0)
    assert service.update(more) == pytest.approx(0.0)
    assert service.update(None) is None
