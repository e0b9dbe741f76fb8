"""Loads: input rates over time, generated or recorded, and their distribution over keys.

A `Shape` gives tuples per second at any time. Shapes can be added and multiplied; `shape_from` makes them from
configuration, `Trace.from_csv` from recordings. `skew` has the weights of keys.
"""

from rheostat.load.configuration import shape_from, skew_from
from rheostat.load.curves import Diurnal, OpeningAuction, Progressive, Ramp, Sine, Spike, Step
from rheostat.load.erratic import Erratic
from rheostat.load.shape import Constant, Delayed, Product, Repeated, Shape, Sum
from rheostat.load.trace import Trace

__all__ = [
    "Constant",
    "Delayed",
    "Diurnal",
    "Erratic",
    "OpeningAuction",
    "Product",
    "Progressive",
    "Ramp",
    "Repeated",
    "Shape",
    "Sine",
    "Spike",
    "Step",
    "Sum",
    "Trace",
    "shape_from",
    "skew_from",
]
