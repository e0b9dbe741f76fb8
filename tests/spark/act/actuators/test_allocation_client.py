from types import SimpleNamespace

import pytest

from rheostat.errors import PlantError
from rheostat.spark.act.actuators.allocation import AllocationClient


class JavaMap(dict):
    put = dict.__setitem__


class Backend:
    """Takes requests down, as long as it is willing."""

    def __init__(self) -> None:
        self.asked: list[dict[int, int]] = []
        self.willing = True

    def requestTotalExecutors(self, totals, local, hosts):
        self.asked.append(dict(totals))
        return self.willing


@pytest.fixture
def backend():
    return Backend()


@pytest.fixture
def allocation(backend):
    writer = SimpleNamespace(mapper=lambda: None)
    api = SimpleNamespace(JacksonMessageWriter=lambda: writer)
    spark = SimpleNamespace(status=SimpleNamespace(api=SimpleNamespace(v1=api)))
    jvm = SimpleNamespace(
        java=SimpleNamespace(util=SimpleNamespace(HashMap=JavaMap)),
        org=SimpleNamespace(apache=SimpleNamespace(spark=spark)),
        PythonUtils=SimpleNamespace(toScalaMap=lambda values: values),
    )
    context = SimpleNamespace(schedulerBackend=lambda: backend, statusTracker=lambda: None, statusStore=lambda: None)
    session = SimpleNamespace(
        sparkContext=SimpleNamespace(_jvm=jvm, _jsc=SimpleNamespace(sc=lambda: context), master="spark://x"),
        _jsparkSession=SimpleNamespace(sharedState=lambda: SimpleNamespace(activeStreamingQueries=dict)),
    )
    return AllocationClient(session)


def test_a_profile_that_is_left_out_later_is_asked_for_none_by_name(allocation, backend):
    allocation.request({0: 1, 3: 2})
    allocation.request({0: 1, 4: 2})
    allocation.request({0: 1})
    assert backend.asked == [{0: 1, 3: 2}, {0: 1, 3: 0, 4: 2}, {0: 1, 3: 0, 4: 0}]


def test_a_request_that_is_not_taken_is_an_error_with_the_numbers(allocation, backend):
    backend.willing = False
    with pytest.raises(PlantError, match=r"did not take the request .* {0: 1}"):
        allocation.request({0: 1})
