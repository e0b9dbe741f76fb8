"""Error messages: one line for every error that the user can fix. Other errors are defects and keep their traceback."""

from types import MappingProxyType
from typing import Any

import typer

from rheostat.errors import RheostatError

_UsageError: Any = typer.BadParameter.__mro__[1]
"""An invalid command line. typer gives this class no public name."""

_EXTRAS = MappingProxyType({"pyspark": "spark", "uvicorn": "serve"})
"""Libraries that whole commands need, and the extra that installs them."""


def message_for(error: Exception) -> str | None:
    """The line to print for `error`, or None if it is a defect and must be raised."""
    match error:
        case RheostatError():
            return str(error)
        case _UsageError():
            return _usage_message(error)
        case ModuleNotFoundError() if (library := (error.name or "").partition(".")[0]) in _EXTRAS:
            return f"this command needs {library}: pip install 'rheostat[{_EXTRAS[library]}]'"
        case OSError():  # a full disk, a folder without write permission
            return f"{error.filename or 'the output'}: {error.strerror or error}"
        case MemoryError():
            return f"not enough memory: {error}"
    return None


def _usage_message(error: Any) -> str:
    """typer's message with the rejected value and a pointer to --help; "" if typer has already printed the help."""
    message = " ".join(error.format_message().split()).rstrip(".")
    if not message:
        return ""
    given = _rejected_value(error)
    value = "" if given is None or given in message else f" (given: {given})"
    path = error.ctx.command_path if error.ctx else "rheostat"
    return f"{message[0].lower()}{message[1:]}{value} (see {path} --help)"


def _rejected_value(error: Any) -> str | None:
    """The value that could not be parsed. Newer versions of typer parse with pydantic, whose error has it."""
    reasons: list[Any] = getattr(error.__cause__, "errors", list)()
    return repr(reasons[0]["input"]) if reasons else None
