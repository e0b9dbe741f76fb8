"""Which executor gets a record: round robin, by key, load-aware (PA-SPS), OSG (DABS-Storm), whole batches at once.

All assign values to executors 0 .. k − 1. Those that decide record by record also have `choose`; what they learn
meanwhile is told to them between two calls. `check` says where a grouping is allowed.
"""

from rheostat.grouping.batch_greedy import BatchGreedy
from rheostat.grouping.check import check
from rheostat.grouping.costs import CostSketch
from rheostat.grouping.countmin import CountMin
from rheostat.grouping.grouping import Grouping, OnlineGrouping
from rheostat.grouping.hashes import Hashes, sketch_hashes
from rheostat.grouping.keyed import ByKey
from rheostat.grouping.load_aware import LoadAware
from rheostat.grouping.osg.scheduler import Scheduler
from rheostat.grouping.osg.task import Task
from rheostat.grouping.round_robin import RoundRobin

__all__ = [
    "BatchGreedy",
    "ByKey",
    "CostSketch",
    "CountMin",
    "Grouping",
    "Hashes",
    "LoadAware",
    "OnlineGrouping",
    "RoundRobin",
    "Scheduler",
    "Task",
    "check",
    "sketch_hashes",
]
