"""Compilation of the event loop: numba where it is installed, plain Python (correct, but slow) where it is not.

Tables are arrays of records. Compiled code gets the address of a table's first record and steps from there: a
record has no reference count, and counting references to arrays would cost more than the events themselves. Python
passes the addresses as one array of numbers, which is a thousand times faster than passing the records.
"""

import hashlib
import importlib.util
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
Tables = TypeVar("Tables", bound=tuple[Any, ...])

COMPILED = importlib.util.find_spec("numba") is not None

_STATES_KEPT = 4
"""Compiled code is kept for this many states of the sources."""


@cache
def cache_folder() -> Path:
    """The folder of code compiled from the sources as they are now.

    numba checks only the file of a function to see whether its compiled form is up to date. Compiled code contains
    what it calls, from other files too: so any change in any of them leads to another folder.
    """
    folder = _cache_base() / _fingerprint()
    if not folder.exists():
        for stale in sorted(_cache_base().glob("*"), key=lambda each: each.stat().st_mtime)[: -_STATES_KEPT + 1]:
            shutil.rmtree(stale, ignore_errors=True)
    return folder


def _cache_base() -> Path:
    given = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) / "rheostat" if given else user / "rheostat" / "compiled"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    simulator = Path(__file__).parents[1]
    for source in sorted(simulator.rglob("*.py")):
        digest.update(source.relative_to(simulator).as_posix().encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


if COMPILED:
    import numba
    from numba.core import types
    from numba.extending import intrinsic

    def jit(function: Function) -> Function:
        """Compile `function` for calls from other compiled functions only."""
        return numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)

    def entry(function: Function) -> Function:
        """Compile `function` for calls from Python, on its first call; later processes of this user reuse the code."""
        usual, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(cache_folder())
        try:
            return numba.njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)(function)
        finally:
            numba.config.CACHE_DIR = usual

    @intrinsic  # type: ignore[untyped-decorator]
    def _step(typing_context: Any, table: Any, index: Any) -> Any:
        if not (isinstance(table, types.Record) and isinstance(index, types.Integer)):
            return None

        def step(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.gep(arguments[0], [arguments[1]])

        return table(table, types.int64), step

    at: Callable[[Any, int], Any] = _step
    """The record at `index` of `table`."""

    def addressed(tables: tuple[Any, ...]) -> Any:
        """The addresses of `tables`, which compiled code takes in their place; valid as long as the tables live."""
        return np.array([table.ctypes.data for table in tables])

    def reader_of(tables: type[Tables], layouts: Iterable[np.dtype[Any]]) -> Callable[[Any], Tables]:
        """A function with which compiled code turns the result of `addressed` back into `tables` of those layouts."""
        records = types.NamedTuple([numba.from_dtype(layout) for layout in layouts], tables)  # type: ignore[attr-defined]

        @intrinsic  # type: ignore[untyped-decorator]
        def read(typing_context: Any, addresses: Any) -> Any:
            def load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                first = context.make_array(addresses)(context, builder, arguments[0]).data
                positions = [context.get_constant(types.intp, position) for position in range(len(records))]
                numbers = [builder.load(builder.gep(first, [position])) for position in positions]
                pointers = [context.get_value_type(record) for record in records]
                return context.make_tuple(builder, records, map(builder.inttoptr, numbers, pointers))

            return records(addresses), load

        return read

else:
    logging.getLogger(__name__).warning(
        "numba is not installed: the simulator runs some hundred times slower (pip install 'rheostat[sim]')"
    )

    def jit(function: Function) -> Function:
        """Leave `function` as it is: numba is not installed."""
        return function

    entry = jit

    def at(table: Any, index: int) -> Any:
        """The record at `index` of `table`."""
        return table[index]

    def addressed(tables: tuple[Any, ...]) -> Any:
        """`tables` themselves."""
        return tables

    def reader_of(tables: type[Tables], layouts: Iterable[np.dtype[Any]]) -> Callable[[Any], Tables]:
        """Plain Python indexes the tables; of the first table, which has one record only, it gets that record."""
        return lambda given: tables(given[0][0], *given[1:])
