"""A unit's functions applied to its streams: what the query of the unit computes."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import RheostatError, TopologyError
from rheostat.spark.query.entry_time_column import carried
from rheostat.spark.query.failure import reason_of
from rheostat.spark.query.per_record.record_function import RecordFunction
from rheostat.spark.query.per_record.record_stage import applied
from rheostat.spark.query.per_record.timings import Stopwatch
from rheostat.spark.query.unit import Unit
from rheostat.spark.query.user_code_pickling import send_along
from rheostat.spark.streams.entry_times import ENTRY, carries, stamped, watched
from rheostat.spark.streams.outputs import in_one_stream, of_output
from rheostat.topology import Operator, Source

Placement = Callable[[str, DataFrame], DataFrame]
"""Where the stage that computes a DataFrame runs, by the name of the operator or source it belongs to."""


Function = TypeVar("Function", bound=Callable[..., Any])

_FINAL = "rheostat_final_rows"


def final_rows(function: Function) -> Function:
    """Marks a function whose rows are to come once, when nothing can change them any more (a closed window).

    Without it a keyed operator gives each change as it happens.
    """
    setattr(function, _FINAL, True)
    return function


def wants_final_rows(unit: Unit) -> bool:
    return any(getattr(operator.function, _FINAL, False) for operator in unit.operators)


def unplaced(part: str, df: DataFrame) -> DataFrame:
    """Anywhere."""
    return df


class Assembler:
    """Builds DataFrames of units. It keeps the stopwatch of each operator on single records."""

    def __init__(self, placement: Placement = unplaced) -> None:
        self._place = placement
        self.stopwatches: dict[str, Stopwatch] = {}
        self._undivided: dict[str, DataFrame] = {}

    def outputs(self, unit: Unit, session: SparkSession, inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """What the unit makes of its `inputs`: the streams that others read, and the results.

        Results have no entry times, so that where there is nothing else to make they are not carried along.
        """
        carry = bool(unit.outputs)
        frames = {name: df if carry else df.drop(ENTRY) for name, df in inputs.items()}
        if unit.source is not None:
            entered = _opened(unit.source, session)
            # Fused with operators there is no stream in which the entry times could be found.
            entered = watched(entered) if unit.operators else entered
            entered = entered if carry else entered.drop(ENTRY)
            frames[unit.source.name] = self._place(unit.source.name, entered)
        for operator in unit.operators:
            frames.update(self._applied(operator, [frames[name] for name in operator.inputs], carry))
        return {name: frames[name] for name in (*unit.outputs, *unit.results)}

    def whole(self, unit: Unit, session: SparkSession, inputs: Mapping[str, DataFrame]) -> DataFrame:
        """All that the unit makes as one DataFrame, which is what one query can write."""
        made = self.outputs(unit, session, inputs)
        if len(made) == 1:
            return next(iter(made.values()))
        return self._undivided.get(unit.stream) or in_one_stream(made)

    def _applied(self, operator: Operator, inputs: Sequence[DataFrame], carry: bool) -> dict[str, DataFrame]:
        if operator.function is None:
            raise TopologyError(f"operator {operator.name!r} has no function: on Spark it needs one")
        placed = [self._place(operator.name, df) for df in inputs]
        _check_key(operator, placed)
        if isinstance(operator.function, RecordFunction):
            made = self._per_record(operator, operator.function, placed)
        else:
            made = _on_frames(operator, operator.function, placed)
            made = {name: carried(df) if carry else df for name, df in made.items()}
        return {name: self._place(operator.name, df) for name, df in made.items()}

    def _per_record(
        self, operator: Operator, function: RecordFunction, inputs: Sequence[DataFrame]
    ) -> dict[str, DataFrame]:
        if len(inputs) != 1:
            raise TopologyError(
                f"operator {operator.name!r} is a function on single records and reads {len(inputs)} streams: "
                "it can read one; unite them before it"
            )
        _check_outputs(operator, function.outputs)
        send_along(function.function)
        df = inputs[0]
        if operator.key is not None:
            df = df.repartition(operator.substream_count, f"`{operator.key}`")
        stopwatch = self.stopwatches.setdefault(operator.name, Stopwatch(df.sparkSession.sparkContext))
        made = applied(df, operator.name, function, stopwatch)
        if function.outputs is None:
            return {operator.name: made}
        self._undivided[operator.name] = self._place(operator.name, made)
        return {stream: of_output(made, stream) for stream in operator.selectivities}


def _opened(source: Source, session: SparkSession) -> DataFrame:
    if source.reader is None:
        raise TopologyError(f"source {source.name!r} has no reader: on Spark it needs one")
    df = _called(f"source {source.name!r}", source.reader, [session])
    if not isinstance(df, DataFrame) or not df.isStreaming:
        raise TopologyError(f"source {source.name!r} must open a streaming DataFrame, not {df!r}: use spark.readStream")
    return stamped(df, source.name, source.reader)


def _on_frames(operator: Operator, function: Callable[..., Any], inputs: Sequence[DataFrame]) -> dict[str, DataFrame]:
    visible = [df.drop(ENTRY) if carries(df) else df for df in inputs]
    made = _called(f"operator {operator.name!r}", function, visible)
    _check_outputs(operator, made if isinstance(made, Mapping) else None)
    named = {f"{operator.name}.{name}": df for name, df in made.items()} if operator.outputs else {operator.name: made}
    for name, df in named.items():
        if not isinstance(df, DataFrame) or not df.isStreaming:
            raise TopologyError(f"operator {operator.name!r} must make a streaming DataFrame of {name!r}, not {df!r}")
    return named


def _called(what: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    send_along(function)
    try:
        return function(*arguments)
    except RheostatError:
        raise
    except AnalysisException as error:
        had = "; ".join(df.schema.simpleString() for df in arguments if isinstance(df, DataFrame))
        raise TopologyError(f"{what}: {reason_of(error)}" + (f"; its input is {had}" if had else "")) from error
    except Exception as error:
        raise TopologyError(f"{what}: {_kind(error)}; {reason_of(error)}") from error


def _kind(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip()


def _check_key(operator: Operator, inputs: Sequence[DataFrame]) -> None:
    if operator.key is None:
        return
    for stream, df in zip(operator.inputs, inputs, strict=True):
        if operator.key not in df.columns:
            columns = ", ".join(column for column in df.columns if column != ENTRY)
            raise TopologyError(
                f"operator {operator.name!r} is keyed by {operator.key!r}, which its input {stream!r} does not have: "
                f"{columns}"
            )


def _check_outputs(operator: Operator, made: Mapping[str, Any] | None) -> None:
    declared, found = sorted(operator.outputs), sorted(made or ())
    if declared != found:
        raise TopologyError(
            f"operator {operator.name!r} declares the outputs {declared or 'none'} and its function makes "
            f"{found or 'a single one'}: name the same ones in both"
        )
