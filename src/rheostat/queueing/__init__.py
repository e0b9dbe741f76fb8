"""Queueing models of operators, and the optimal allocation of executors to them.

`Network` holds a model for each operator; `assign_processors` and `min_processors` solve DRS's two problems.
"""

from rheostat.queueing.allocation.allocate import assign_processors, min_processors
from rheostat.queueing.models.gigk import GIGk, mmk
from rheostat.queueing.models.microbatch import MicroBatch
from rheostat.queueing.models.mixed_speeds import MixedSpeeds
from rheostat.queueing.models.model import QueueModel
from rheostat.queueing.models.split_mm1 import SplitMM1, mm1, projected_latency_s
from rheostat.queueing.network import ExecutorAllocation, Network, Station
from rheostat.queueing.traffic import Route, arrival_rates

__all__ = [
    "ExecutorAllocation",
    "GIGk",
    "MicroBatch",
    "MixedSpeeds",
    "Network",
    "QueueModel",
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
