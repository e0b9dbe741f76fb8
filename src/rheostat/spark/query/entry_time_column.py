"""Entry time column: carried through the DataFrame function of a user that does not know of it.

The function gets a DataFrame without the hidden column and returns another one. Afterwards the column is added to the
plan that the function built: to each projection, to an aggregation as the newest of the group, to a join as the newer
of the two. Results are the same as without it, since nothing that compares whole rows ever sees it. Where it cannot be
added (a Python function on whole batches, state of the user's own, DISTINCT) the records have no entry times of their
own and share those of the batch that they were made from.
"""

import logging
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from rheostat.spark.streams.entry_times import ENTRY
from rheostat.spark.streams.jvm_objects import dataframe_of, java_frame, scala_object

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
"""Plan nodes whose output is that of their child."""

_ADDING = frozenset({"Generate", "Window"})
"""Plan nodes that keep the child's columns and add their own."""


def with_carried_entry_times(df: DataFrame) -> DataFrame:
    """`df` with the entry times of the records that it was made from as its last column; unchanged if that fails."""
    try:
        plan, entry = _PlanRewriter(df).rewrite(java_frame(df).queryExecution().analyzed())
        if entry is None:
            return df
        carried = dataframe_of(df.sparkSession, plan)
    except (Py4JError, PySparkException) as error:
        _LOG.debug("%s carries no entry times of its own: %s", df, error)
        return df
    return carried if carried.columns == [*df.columns, ENTRY] else df


class _PlanRewriter:
    """Rebuilds a plan from its leaves up. Each step returns the new node and the column's attribute in it, if any."""

    def __init__(self, df: DataFrame) -> None:
        jvm: Any = df.sparkSession.sparkContext._jvm
        self._plans = jvm.org.apache.spark.sql.catalyst.plans.logical
        self._expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self._to_seq = jvm.PythonUtils.toSeq
        self._none = scala_object(jvm, "scala.None")
        self._max = getattr(jvm, "org.apache.spark.sql.catalyst.expressions.aggregate.Max")
        self._greatest = self._expressions.Greatest
        self._names = scala_object(jvm, "org.apache.spark.sql.catalyst.expressions.NamedExpression")

    def rewrite(self, plan: Any) -> tuple[Any, Any | None]:
        kind = plan.nodeName()
        children = [self.rewrite(child) for child in _items(plan.children())]
        entries = [entry for _, entry in children if entry is not None]
        if not entries:
            return plan, _entry_in(plan)
        if kind == "Project":
            return self._project(plan, *children[0])
        if kind == "Aggregate":
            return self._aggregate(plan, *children[0])
        if kind == "Expand":
            return self._expand(plan, *children[0])
        if kind in _TRANSPARENT or kind in _ADDING:
            return self._with_children(plan, children), entries[0]
        if kind == "Join":
            return self._join(plan, children)
        if kind == "Union" and len(entries) == len(children):
            return self._union(plan, children)
        # A function on single records, fused before this one, carries them itself.
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

    def _join(self, plan: Any, children: list[tuple[Any, Any | None]]) -> tuple[Any, Any | None]:
        joined = self._with_children(plan, children)
        kept = _items(joined.output())
        entries = [column for column in kept if column.name() == ENTRY]
        if not entries:
            return plan, None
        newest = self._named(self._greatest(self._to_seq(entries)) if len(entries) > 1 else entries[0])
        columns = [column for column in kept if column.name() != ENTRY]
        return self._plans.Project(self._to_seq([*columns, newest]), joined), newest.toAttribute()

    def _union(self, plan: Any, children: list[tuple[Any, Any | None]]) -> tuple[Any, Any]:
        """A union matches columns by position, so the entry time is last everywhere."""
        aligned = []
        for child, entry in children:
            columns = [column for column in _items(child.output()) if column.name() != ENTRY]
            aligned.append((self._plans.Project(self._to_seq([*columns, entry]), child), entry))
        union = self._with_children(plan, aligned)
        return union, _items(union.output())[-1]

    def _with_children(self, plan: Any, children: list[tuple[Any, Any | None]]) -> Any:
        return plan.withNewChildren(self._to_seq([child for child, _ in children]))

    def _named(self, expression: Any) -> Any:
        nothing = self._to_seq([])
        return self._expressions.Alias(expression, ENTRY, self._names.newExprId(), nothing, self._none, nothing)


def _entry_in(plan: Any) -> Any | None:
    return next((column for column in _items(plan.output()) if column.name() == ENTRY), None)


def _items(seq: Any) -> list[Any]:
    return [seq.apply(index) for index in range(seq.size())]
