"""The annealing's inner loop, compiled where numba is installed and the work is worth it."""

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

from rheostat.placement import kernel

WORTH_COMPILING = 3e5
"""Proposals times neighbours from which compiled code, loaded or made, is sooner done than plain Python."""


def worth_compiling(work: float) -> bool:
    return work >= WORTH_COMPILING and importlib.util.find_spec("numba") is not None


@cache
def compiled_sweep() -> Callable[..., Any]:
    """`kernel.sweep` as machine code; later processes find it compiled."""
    import numba
    from numba.extending import register_jitable

    for helper in kernel.HELPERS:
        register_jitable(helper)
    return numba.njit(cache=True, error_model="numpy")(kernel.sweep)  # type: ignore[no-any-return]
