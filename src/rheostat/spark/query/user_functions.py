"""User functions: the marks they can carry, how they are called, and how their code reaches the executors.

Python pickles a function of a module by name and expects to import the module on the other side. That works for
installed packages. The user's own script was imported on the driver from wherever it lies, and executors do not have
it, so its functions are pickled by value.
"""

import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pyspark import cloudpickle
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rheostat.errors import RheostatError, TopologyError
from rheostat.spark.query.failure import reason_of
from rheostat.spark.query.per_record.record_function import RecordFunction, Schema, as_struct

Function = TypeVar("Function", bound=Callable[..., Any])

_EMITS = "rheostat_emits"
_FINAL_ROWS = "rheostat_final_rows"
_INSTALLED = tuple(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))


def emits(schema: Schema | Mapping[str, Schema]) -> Callable[[Function], Function]:
    """Mark a function on DataFrames with the schema that it returns, by output if it has several.

    Needed only on a loop, where the schema of the input depends on that of the output.
    """

    def mark(function: Function) -> Function:
        setattr(function, _EMITS, schema)
        return function

    return mark


def final_rows(function: Function) -> Function:
    """Mark a function whose rows are emitted once, when they are final, for example when a window is closed.

    Without the mark a keyed operator emits an update whenever a row changes.
    """
    setattr(function, _FINAL_ROWS, True)
    return function


def emits_final_rows(function: Callable[..., Any] | None) -> bool:
    return getattr(function, _FINAL_ROWS, False)


def declared_schema(function: Callable[..., Any] | None, output: str) -> StructType | None:
    """The schema that a function declares for one of its outputs; None if it declares none."""
    schema = function.schema if isinstance(function, RecordFunction) else getattr(function, _EMITS, None)
    if isinstance(schema, Mapping):
        schema = schema.get(output)
    return None if schema is None else as_struct(schema)


def call(owner: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call a user's function; what it raises becomes a `TopologyError` that names its `owner`."""
    pickle_by_value(function)
    try:
        return function(*arguments)
    except RheostatError:
        raise
    except AnalysisException as error:
        had = "; ".join(df.schema.simpleString() for df in arguments if isinstance(df, DataFrame))
        raise TopologyError(f"{owner}: {reason_of(error)}" + (f"; its input is {had}" if had else "")) from error
    except Exception as error:
        summary = traceback.format_exception_only(error)[-1].strip()
        raise TopologyError(f"{owner}: {summary}; {reason_of(error)}") from error


def pickle_by_value(function: Callable[..., Any]) -> None:
    """Have the module that defines `function` pickled by value, unless it is an installed one."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None or module.__name__ == "__main__":
        return
    if module.__name__.partition(".")[0] != "rheostat" and not _is_installed(Path(file)):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _is_installed(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in _INSTALLED)
