"""Compilation of the event loop: numba where it is installed, plain Python (right, but slow) where it is not.

Tables are arrays of records. Compiled code gets the address of a table's first record and steps from there: a
record has no reference count, and counting references to arrays would cost more than the events themselves. From
Python the addresses come as one array of numbers, which is handed over a thousand times faster than the records.
"""

import importlib.util
import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
Tables = TypeVar("Tables", bound=tuple[Any, ...])

COMPILED = importlib.util.find_spec("numba") is not None

if COMPILED:
    import numba
    from numba.core import types
    from numba.extending import intrinsic

    from rheostat.sim.engine.compiled import cache_folder

    def jit(function: Function) -> Function:
        """Compile `function` for other compiled functions to call; Python cannot."""
        return numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)

    def entry(function: Function) -> Function:
        """Compile `function` for Python to call, on its first call; later processes of this user find it compiled."""
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
        """What compiled code takes in place of `tables`, as long as they live."""
        return np.array([table.ctypes.data for table in tables])

    def reader_of(tables: type[Tables], layouts: Iterable[np.dtype[Any]]) -> Callable[[Any], Tables]:
        """How compiled code gets `tables` of those layouts back from what `addressed` made of them."""
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
        """Leave `function` as it is: numba is not there to compile it."""
        return function

    entry = jit

    def at(table: Any, index: int) -> Any:
        """The record at `index` of `table`."""
        return table[index]

    def addressed(tables: tuple[Any, ...]) -> Any:
        """`tables` themselves."""
        return tables

    def reader_of(tables: type[Tables], layouts: Iterable[np.dtype[Any]]) -> Callable[[Any], Tables]:
        """Plain Python indexes the tables; the first has one record only, which stands for itself."""
        return lambda given: tables(given[0][0], *given[1:])
