"""The user's code travels to the executors with the functions that need it.

Python sends a function of a module by name only, and expects the module at the other end. That holds for installed
packages; the user's own script, imported on the driver from wherever it lies, is not there.
"""

import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

_INSTALLED = tuple(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))


def send_along(function: Callable[..., Any]) -> None:
    """Send everything of the module that `function` is from by value, unless that is an installed one."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None or module.__name__ == "__main__":
        return
    if module.__name__.partition(".")[0] != "rheostat" and not _is_installed(Path(file)):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _is_installed(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in _INSTALLED)
