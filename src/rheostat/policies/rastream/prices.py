"""What executors need to keep up: what a record costs them, times the records that reach them.

A full node shows what it has, not what is asked of it: its use stays at 1, and records take longer because they wait
for each other. So what a record costs is remembered from when nodes were not full.
"""

from collections.abc import Mapping

from rheostat.placement import Resources
from rheostat.placement.model.measured import trimmed_mean
from rheostat.policies.rastream.load import Load
from rheostat.policies.rastream.monitor import Member

_BY_RECORD = ("cpu", "io")
"""What records use; memory is held whether they come or not."""


class Prices:
    """Cores and I/O that a record per second costs each pool, from the last frame in which its nodes had some left."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], float] = {}

    def learn(self, loads: Mapping[Member, Load]) -> None:
        """Remember the trimmed mean over the executors of each pool whose nodes are not full."""
        samples: dict[tuple[str, str], list[float]] = {}
        for member, load in loads.items():
            for resource in _BY_RECORD:
                if load.completing and resource not in load.full:
                    price = getattr(load.use, resource) / load.completing
                    samples.setdefault((member.pool, resource), []).append(price)
        for key, seen in samples.items():
            self._known[key] = trimmed_mean(seen) or 0.0

    def need(self, member: Member, load: Load) -> Resources:
        """What the executor would use if it kept up with everything that reaches it."""
        return Resources(self._need(member, load, "cpu"), load.use.memory, self._need(member, load, "io"))

    def _need(self, member: Member, load: Load, resource: str) -> float:
        """By the price that its own use tells; on a full node by the one remembered, but what it uses at least."""
        used: float = getattr(load.use, resource)
        known = self._known.get((member.pool, resource))
        if resource in load.full and known is not None:
            return max(known * load.arriving, used)
        return used * load.arriving / load.completing if load.completing else used
