"""A recorded load as samples at equal distances."""

import numpy as np

from rheostat.duration import human
from rheostat.errors import LoadError
from rheostat.load import Trace
from rheostat.load.fields import Array

MOST_SAMPLES = 10_000_000
"""More come from a stray stamp rather than from a recording."""


def samples_of(trace: Trace) -> Array:
    """The rates of `trace`, at the distances of its file; a missing step is bridged as the trace does."""
    step_s = trace.duration_s - float(trace.times_s[-1])
    if not trace.duration_s <= MOST_SAMPLES * step_s:
        raise LoadError(
            f"a trace of {human(trace.duration_s)} in steps of {human(step_s)} has more than {MOST_SAMPLES:,} samples: "
            "look for a stamp far from the others"
        )
    return trace.rates(np.arange(round(trace.duration_s / step_s)) * step_s)
