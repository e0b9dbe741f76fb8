"""Where a pool serves: the resource profile of its executors, and the node that the profile asks for.

A pool that is to serve elsewhere gets a second post. Its executors come there and are warmed up while the old ones
go on serving; when all of them are ready the work is shown to them, from the next batch on, and the old ones go.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.resource import ResourceProfile

from rheostat.plan import PoolPlan
from rheostat.spark.act.pool import Pool

NOBODY = PoolPlan((), 0)
"""What is wanted of a post that is given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Post:
    """One pool of executors of one profile; `node` is None where any will do."""

    pool: Pool
    profile: ResourceProfile
    node: str | None


class Posts:
    """The posts of one name: the one that serves, the one that will, and those that are being left."""

    def __init__(self, serving: Post) -> None:
        self.serving = serving
        self.coming: Post | None = None
        self.left: list[Post] = []

    def __iter__(self) -> Iterator[Post]:
        return iter([self.serving, *([self.coming] if self.coming else []), *self.left])

    @property
    def are_settled(self) -> bool:
        return self.coming is None and not self.left and self.serving.pool.is_settled
