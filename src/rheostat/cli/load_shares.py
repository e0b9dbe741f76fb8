"""Load shares: how the backlog of an operator is spread, over partitions of topics and over substreams.

Partitions are how producers wrote the records, substreams are shares of the operator's keys: an operator may have both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class LoadShares:
    """What waits for `operator` in each part of one `kind`; None where that is not known."""

    operator: str
    kind: str
    queued: Sequence[int | None]

    @property
    def count(self) -> str:
        """ "8 substreams"."""
        return f"{len(self.queued)} {self.kind}"

    @property
    def waiting(self) -> str:
        """The least and the most of any part: "0 to 340 wait in each"."""
        known = [each for each in self.queued if each is not None]
        if not known:
            return "unknown how many wait in each"
        least, most = min(known), max(known)
        return f"{least:,} to {most:,} wait in each" if least < most else f"{most:,} wait in each"


def load_shares(snapshot: Snapshot) -> list[LoadShares]:
    """Of each operator, for each kind of parts that it has."""
    shares = []
    for state in snapshot.operator_states:
        shares.append(
            LoadShares(state.name, "partitions", [each.queued for each in snapshot.partitions_of(state.name)])
        )
        substreams = sorted(snapshot.substreams_of(state.name), key=lambda each: each.index)
        shares.append(LoadShares(state.name, "substreams", [each.queued for each in substreams]))
    return [each for each in shares if each.queued]
