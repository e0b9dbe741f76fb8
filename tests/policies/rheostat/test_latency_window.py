"""The mean latency over the window of an SLA."""

from rheostat.policies.rheostat.latency_window import LatencyWindow
from rheostat.snapshot import Latency


def test_every_record_counts_once_and_only_as_long_as_the_window_lasts():
    window = LatencyWindow(10.0)
    assert window.mean_s is None
    window.add(2.0, Latency(1, 8.0))
    window.add(4.0, Latency(3, 4.0))
    window.add(6.0, None)
    assert window.mean_s == 5.0
    window.add(12.0, Latency(0, 0.0))
    assert window.mean_s == 4.0
    window.add(14.0, None)
    assert window.mean_s is None
