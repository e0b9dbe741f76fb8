"""How the hidden column with the entry time stays with its records through a user's DataFrame function.

The function gets a DataFrame without the column and returns another. Afterwards the column is threaded through
what the function built: added to each projection on the way, as the newest of a group to an aggregation, as the
newer of the two to a join. Results are the same as without it, since nothing that compares whole rows ever sees
it. Where it cannot be threaded (a function in Python on whole batches, state of the user's own making, DISTINCT)
the records are left without the column, and their entry times are those of the batch they were made from.
"""

import logging
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from rheostat.spark.streams.entry_times import ENTRY
from rheostat.spark.streams.source import as_dataframe, java_frame

_LOG = logging.getLogger(__name__)

_TRANSPARENT = frozenset(
    {
        "CollectMetrics",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "EventTimeWatermark",
        "Filter",
        "GlobalLimit",
        "LocalLimit",
        "Pinned",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sample",
        "Sort",
        "SubqueryAlias",
        "View",
    }
)
"""Nodes whose output is their child's, whatever it is."""

_ADDING = frozenset({"Generate", "Window"})
"""Nodes that keep the child's columns and add their own."""


def carried(df: DataFrame) -> DataFrame:
    """`df` with the entry times of the records it was made from as its last column, or as it is if that fails."""
    try:
        plan, entry = _Carrier(df).carry(java_frame(df).queryExecution().analyzed())
        if entry is None:
            return df
        threaded = as_dataframe(df.sparkSession, plan)
    except (Py4JError, PySparkException) as error:
        _LOG.debug("entry times of %s follow by batch: %s", df, error)
        return df
    return threaded if threaded.columns == [*df.columns, ENTRY] else df


class _Carrier:
    """Rebuilds a plan from its leaves up; each step gives the new node and the column's attribute in it."""

    def __init__(self, df: DataFrame) -> None:
        jvm: Any = df.sparkSession.sparkContext._jvm
        self._plans = jvm.org.apache.spark.sql.catalyst.plans.logical
        self._expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self._to_seq = jvm.PythonUtils.toSeq
        self._none = getattr(getattr(jvm, "scala.None$"), "MODULE$")
        self._max = getattr(jvm, "org.apache.spark.sql.catalyst.expressions.aggregate.Max")
        self._greatest = self._expressions.Greatest
        self._names = getattr(getattr(jvm, "org.apache.spark.sql.catalyst.expressions.NamedExpression$"), "MODULE$")

    def carry(self, plan: Any) -> tuple[Any, Any | None]:
        kind = plan.nodeName()
        carried = [self.carry(child) for child in _items(plan.children())]
        entries = [entry for _, entry in carried if entry is not None]
        if not entries:
            return plan, _entry_in(plan)
        if kind == "Project":
            return self._project(plan, *carried[0])
        if kind == "Aggregate":
            return self._aggregate(plan, *carried[0])
        if kind == "Expand":
            return self._expand(plan, *carried[0])
        if kind in _TRANSPARENT or kind in _ADDING:
            return self._with_children(plan, carried), entries[0]
        if kind == "Join":
            return self._join(plan, carried)
        if kind == "Union" and len(entries) == len(carried):
            return self._union(plan, carried)
        # A function on single records, fused before this one, has them in what it makes.
        return plan, _entry_in(plan)

    def _project(self, plan: Any, child: Any, entry: Any) -> tuple[Any, Any]:
        columns = [column for column in _items(plan.projectList()) if column.name() != ENTRY]
        return self._plans.Project(self._to_seq([*columns, entry]), child), entry

    def _aggregate(self, plan: Any, child: Any, entry: Any) -> tuple[Any, Any]:
        newest = self._named(self._max(entry).toAggregateExpression())
        columns = self._to_seq([*_items(plan.aggregateExpressions()), newest])
        hint = [plan.hint()] if hasattr(plan, "hint") else []
        aggregate = self._plans.Aggregate(plan.groupingExpressions(), columns, child, *hint)
        return aggregate, newest.toAttribute()

    def _expand(self, plan: Any, child: Any, entry: Any) -> tuple[Any, Any]:
        rows = [self._to_seq([*_items(row), entry]) for row in _items(plan.projections())]
        output = self._to_seq([*_items(plan.output()), entry])
        return self._plans.Expand(self._to_seq(rows), output, child), entry

    def _join(self, plan: Any, carried: list[tuple[Any, Any | None]]) -> tuple[Any, Any | None]:
        joined = self._with_children(plan, carried)
        kept = _items(joined.output())
        entries = [column for column in kept if column.name() == ENTRY]
        if not entries:
            return plan, None
        newest = self._named(self._greatest(self._to_seq(entries)) if len(entries) > 1 else entries[0])
        columns = [column for column in kept if column.name() != ENTRY]
        return self._plans.Project(self._to_seq([*columns, newest]), joined), newest.toAttribute()

    def _union(self, plan: Any, carried: list[tuple[Any, Any | None]]) -> tuple[Any, Any]:
        """Columns of a union are matched by position: the entry time goes last everywhere."""
        children = []
        for child, entry in carried:
            columns = [column for column in _items(child.output()) if column.name() != ENTRY]
            children.append((self._plans.Project(self._to_seq([*columns, entry]), child), entry))
        union = self._with_children(plan, children)
        return union, _items(union.output())[-1]

    def _with_children(self, plan: Any, carried: list[tuple[Any, Any | None]]) -> Any:
        return plan.withNewChildren(self._to_seq([child for child, _ in carried]))

    def _named(self, expression: Any) -> Any:
        nothing = self._to_seq([])
        return self._expressions.Alias(expression, ENTRY, self._names.newExprId(), nothing, self._none, nothing)


def _entry_in(plan: Any) -> Any | None:
    return next((column for column in _items(plan.output()) if column.name() == ENTRY), None)


def _items(seq: Any) -> list[Any]:
    return [seq.apply(index) for index in range(seq.size())]
