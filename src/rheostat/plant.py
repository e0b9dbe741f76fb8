"""What is controlled, as far as the control loop knows it: something that is observed and told a plan."""

from typing import Protocol

from rheostat.capabilities import Capabilities
from rheostat.clock import Clock
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot
from rheostat.topology import Topology


class Plant(Protocol):
    """Spark, or the simulator. `observe` and `apply` return at once; neither waits for the data to flow.

    Every plant passes the tests in `tests/contract`.
    """

    @property
    def topology(self) -> Topology: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do now."""
        ...

    def observe(self) -> Snapshot:
        """What can be measured now. What cannot is None in it, and named in its `problems`."""
        ...

    def apply(self, plan: Plan) -> tuple[str, ...]:
        """Work towards `plan`; the same plan again changes nothing. Returns what stands in the way, in words, until it
        is gone or the plan is taken back."""
        ...

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        """The pools of `plan` for which what runs now is what it wants, their operators' substreams and groupings
        included. Asking changes nothing."""
        ...
