"""Trace samples: a recorded load as samples at equal time steps."""

import numpy as np

from rheostat.duration import human
from rheostat.errors import LoadError
from rheostat.load import Trace
from rheostat.load.fields import Array

MAX_SAMPLES = 10_000_000
"""More than that points to a wrong timestamp rather than to a long recording."""


def samples_of(trace: Trace) -> Array:
    """The rates of `trace` at the time step of its file; missing steps are filled in as the trace does."""
    step_s = trace.duration_s - float(trace.times_s[-1])
    if not trace.duration_s <= MAX_SAMPLES * step_s:
        raise LoadError(
            f"a trace of {human(trace.duration_s)} in steps of {human(step_s)} has more than {MAX_SAMPLES:,} samples: "
            "look for a timestamp far from the others"
        )
    return trace.rates(np.arange(round(trace.duration_s / step_s)) * step_s)
