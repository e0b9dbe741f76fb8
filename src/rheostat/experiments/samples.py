"""A recorded load as samples at equal distances."""

from rheostat.load import Trace
from rheostat.load.field import Array


def samples_of(trace: Trace) -> Array:
    """The rates of `trace`, at the distances of its file; a missing step is bridged as the trace does."""
    step_s = trace.duration_s - float(trace.times_s[-1])
    return trace.rates([position * step_s for position in range(round(trace.duration_s / step_s))])
