"""Groupings, which choose the executor of a record: round robin, by key, load-aware (PA-SPS), OSG (DABS-Storm), batch.

All assign values to executors 0 .. k − 1. Those that decide record by record also have `choose`, and get measurements
between two calls. `check` refuses a grouping where it is not allowed.
"""

from rheostat.grouping.batch_greedy import BatchGreedy
from rheostat.grouping.by_key import KeyGrouping
from rheostat.grouping.check import check
from rheostat.grouping.costs import CostSketch
from rheostat.grouping.countmin import CountMin
from rheostat.grouping.grouping import RecordGrouping
from rheostat.grouping.hashes import Hashes, sketch_hashes
from rheostat.grouping.load_aware import LoadAware
from rheostat.grouping.osg.scheduler import Scheduler
from rheostat.grouping.osg.task import OsgTask
from rheostat.grouping.round_robin import RoundRobin

__all__ = [
    "BatchGreedy",
    "CostSketch",
    "CountMin",
    "Hashes",
    "KeyGrouping",
    "LoadAware",
    "OsgTask",
    "RecordGrouping",
    "RoundRobin",
    "Scheduler",
    "check",
    "sketch_hashes",
]
