"""Plant: what the control loop controls. It can be observed, and it follows a plan."""

from typing import Protocol

from rheostat.capabilities import Capabilities
from rheostat.clock import Clock
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot
from rheostat.topology import Topology


class Plant(Protocol):
    """Spark, or the simulator. `observe` and `apply` return at once and do not wait for changes to finish.

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
        """What can be measured now. What cannot be measured is None, and named in `problems`."""
        ...

    def apply(self, plan: Plan) -> tuple[str, ...]:
        """Work towards `plan`; the same plan again changes nothing. Returns the obstacles, in words, until they are
        gone or the plan is taken back."""
        ...

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        """The pools of `plan` for which what runs now is what it wants, their operators' substreams and groupings
        included. Asking changes nothing."""
        ...
