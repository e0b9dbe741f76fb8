"""What went wrong, in one line, where it is the user's to mend and not a defect of ours."""

from types import MappingProxyType
from typing import Any

import typer

from rheostat.errors import RheostatError

_UsageError: Any = typer.BadParameter.__mro__[1]
"""A command line that cannot be understood. typer gives this class no public name."""

_EXTRAS = MappingProxyType({"pyspark": "spark", "uvicorn": "serve"})
"""Libraries that whole commands need, and the extra that brings them."""


def told(error: Exception) -> str | None:
    """The line to print for `error`, or None if it must not be hidden."""
    match error:
        case RheostatError():
            return str(error)
        case _UsageError():
            return _usage(error)
        case ModuleNotFoundError() if (library := (error.name or "").partition(".")[0]) in _EXTRAS:
            return f"this command needs {library}: pip install 'rheostat[{_EXTRAS[library]}]'"
        case OSError():  # a full disk, a folder that is not ours
            return f"{error.filename or 'the output'}: {error.strerror or error}"
        case MemoryError():
            return f"there is not enough memory for this: {error}"
    return None


def _usage(error: Any) -> str:
    """typer's own words, the value that they may leave out, and where help is; "" where it has shown the help."""
    words = " ".join(error.format_message().split()).rstrip(".")
    if not words:
        return ""
    given = _given(error)
    value = "" if given is None or given in words else f" (given: {given})"
    path = error.ctx.command_path if error.ctx else "rheostat"
    return f"{words[0].lower()}{words[1:]}{value} (see {path} --help)"


def _given(error: Any) -> str | None:
    """The value that could not be read: pydantic, with which newer typers read them, keeps it in its error."""
    reasons: list[Any] = getattr(error.__cause__, "errors", list)()
    return repr(reasons[0]["input"]) if reasons else None
