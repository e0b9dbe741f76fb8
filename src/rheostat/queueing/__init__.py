"""Queueing models of operators, and the optimal allocation of executors to them.

`Network` holds a model for each operator; `assign_processors` and `min_processors` answer DRS's two problems.
"""

from rheostat.queueing.allocate import assign_processors, min_processors
from rheostat.queueing.gigk import GIGk, mmk
from rheostat.queueing.margin import SplitMM1, mm1, projected_latency_s
from rheostat.queueing.microbatch import MicroBatch
from rheostat.queueing.mixed import Mixed
from rheostat.queueing.model import Model
from rheostat.queueing.network import Allocation, Network, Station
from rheostat.queueing.traffic import Route, arrival_rates

__all__ = [
    "Allocation",
    "GIGk",
    "MicroBatch",
    "Mixed",
    "Model",
    "Network",
    "Route",
    "SplitMM1",
    "Station",
    "arrival_rates",
    "assign_processors",
    "min_processors",
    "mm1",
    "mmk",
    "projected_latency_s",
]
