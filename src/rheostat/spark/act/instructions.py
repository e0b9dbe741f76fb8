"""Instructions: what the reconciler wants done on Spark. `execute` carries them out; tests compare lists of them.

`RouteTasks`, `RequestTotals`, `WaitForLocality` and `GroupRows` state how something shall be. They are issued in each
step and carried out when they change. The others are carried out whenever they are issued.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.names import OperatorName
from rheostat.spark.state.executor_book import PoolSite, SparkExecutor
from rheostat.spark.state.query_groups import Groups


@dataclass(frozen=True, slots=True)
class CreateProfile:
    """Make a resource profile for executors at `site`."""

    site: PoolSite


@dataclass(frozen=True, slots=True)
class RouteTasks:
    """Send the operator's work to executors at `site`: substream i to the i-th of `by_substream`, the rest to any of
    `serving`."""

    operator: OperatorName
    site: PoolSite
    serving: tuple[SparkExecutor, ...]
    by_substream: tuple[SparkExecutor, ...] = ()


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Run throwaway work on these executors, of the kind that the operators will bring."""

    site: PoolSite
    executors: tuple[SparkExecutor, ...]
    operators: frozenset[OperatorName]


@dataclass(frozen=True, slots=True)
class Decommission:
    """Have Spark give no more tasks to these executors, for good."""

    executor_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestTotals:
    """Ask for this many executors by resource profile; a profile that is left out gets none."""

    totals: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Kill:
    """End these executors, as far as they are idle."""

    executor_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitForLocality:
    """Whether tasks wait for the executor that they prefer, or run anywhere."""

    wait: bool


@dataclass(frozen=True, slots=True)
class GroupRows:
    """Spread the rows of a stateless operator over this many tasks. `query` is the group of operators it runs in."""

    operator: OperatorName
    grouping: str | None
    tasks: int
    query: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RearrangeQueries:
    """Have these groups of operators share a query, and all others run alone."""

    groups: Groups


Instruction = (
    CreateProfile
    | RouteTasks
    | WarmUp
    | Decommission
    | RequestTotals
    | Kill
    | WaitForLocality
    | GroupRows
    | RearrangeQueries
)
