"""OSG scheduler (DABS-Storm fig. 7a): round robin until every task has reported its costs, then the least loaded.

There may be several, one for each upstream task: each balances its own records, so that the sum is balanced too.
"""

from enum import Enum

import numpy as np

from rheostat.grouping.costs import CostSketch
from rheostat.grouping.countmin import Floats
from rheostat.grouping.grouping import Choices, Values, check_executors
from rheostat.grouping.least_loaded import to_the_least_loaded
from rheostat.grouping.osg.messages import SyncReply, SyncRequest
from rheostat.grouping.round_robin import RoundRobin


class SchedulerState(Enum):
    ROUND_ROBIN = "round robin"
    SEND_ALL = "send all"
    WAIT_ALL = "wait all"
    RUN = "run"


class Scheduler:
    """Distributes records over tasks 0 .. `executors` − 1. `loads_s` is Ĉ, the estimated work given to each.

    `number` distinguishes it from other schedulers of the same tasks. The caller delivers the messages: to tasks the
    requests of `take_requests`, after each `choose` or `assign`, to the scheduler the sketches and replies of tasks.
    """

    def __init__(self, executors: int, number: int = 0) -> None:
        self.number = number
        self.state = SchedulerState.ROUND_ROBIN
        self.epoch = 0
        self._requests: list[SyncRequest] = []
        self.executors = check_executors(executors)
        self.loads_s: Floats = np.zeros(executors)
        self._round_robin = RoundRobin(executors)
        self._sketches: dict[int, CostSketch] = {}
        self._new_epoch()

    def choose(self, value: int) -> int:
        return int(self.assign(np.array([value]))[0])

    def assign(self, values: Values) -> Choices:
        """Round robin for all of them, or the first few to tasks that still get a request and the others greedily."""
        if self.state is SchedulerState.ROUND_ROBIN:
            return self._round_robin.assign(values)
        unasked = self.executors - self._asked if self.state is SchedulerState.SEND_ALL else 0
        asking = [self._ask(values[position : position + 1]) for position in range(min(unasked, len(values)))]
        return np.concatenate([np.array(asking, dtype=np.int64), self._assign_greedily(values[len(asking) :])])

    def take_requests(self) -> list[SyncRequest]:
        """The requests sent with the records since the last call, in order."""
        taken, self._requests = self._requests, []
        return taken

    def receive_sketch(self, task: int, sketch: CostSketch) -> None:
        """`task` has learned the costs of its records: estimates change, so loads are synchronised again."""
        self._sketches[task] = sketch
        if self.state is not SchedulerState.ROUND_ROBIN or len(self._sketches) == self.executors:
            self._synchronise()

    def receive_reply(self, reply: SyncReply) -> None:
        """A task's Δ; replies of earlier epochs are dropped."""
        if reply.epoch != self.epoch:
            return
        self._corrections_s[reply.task] = reply.correction_s
        if self.state is SchedulerState.WAIT_ALL and len(self._corrections_s) == self.executors:
            for task, correction_s in self._corrections_s.items():
                self.loads_s[task] += correction_s
            self.state = SchedulerState.RUN

    def _synchronise(self) -> None:
        self.state = SchedulerState.SEND_ALL
        self._new_epoch()

    def _new_epoch(self) -> None:
        """Send new requests, and accept no reply to earlier ones."""
        self.epoch += 1
        self._asked = 0
        self._corrections_s: dict[int, float] = {}

    def _ask(self, value: Values) -> int:
        """SEND ALL: the i-th record goes to task i, with a request."""
        task = self._asked
        self.loads_s[task] += self._sketches[task].seconds(value)[0]
        self._requests.append(SyncRequest(self.number, task, self.epoch, float(self.loads_s[task])))
        self._asked += 1
        if self._asked == self.executors:
            self.state = SchedulerState.WAIT_ALL
        return task

    def _assign_greedily(self, values: Values) -> Choices:
        if not len(values):
            return np.empty(0, dtype=np.int64)
        known, kinds = np.unique(values, return_inverse=True)
        seconds = np.stack([self._sketches[task].seconds(known) for task in range(self.executors)])
        choices, self.loads_s = to_the_least_loaded(self.loads_s, seconds, kinds)
        return choices
