"""Query failure: the cause of an error in a query, with the operator and the line of the user's code or the file."""

import re
import traceback
from pathlib import Path

import pyspark

import rheostat
from rheostat.errors import PlantError, RheostatError

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_PYTHON_ERROR = re.compile(
    r"^((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Iteration|Exit))\b:? ?(.*)"
)
_UNREADABLE = re.compile(r"(?:file:(?://)?)?(/[^\s\"']*?part-[^\s\"']+?\.parquet)")
_LATE_WORKER = "Python worker failed to connect back"
_LIBRARIES = tuple(str(Path(package.__file__ or "").parent) for package in (pyspark, rheostat))


class QueryError(PlantError):
    """A query ended with an error. Committed batches stay; the one that was not committed is repeated on restart."""

    def __init__(self, query: str, reason: str) -> None:
        super().__init__(f"operator {query!r} failed: {reason}")
        self.query = query
        self.reason = reason

    @property
    def may_pass(self) -> bool:
        """Whether the query may run when it is started again: Spark waits 10 s for a Python process to start, whatever
        else the machine has to do, and ends the query of a stateful operator when that was too short."""
        return _LATE_WORKER in self.reason


def reason_of(error: BaseException) -> str:
    """The innermost cause in a line or two, with the line of the user's code if it was raised there."""
    if isinstance(error, RheostatError):
        return str(error)
    text = "\n".join([*traceback.format_exception(error), str(error)])
    frame = _last_user_frame(text)
    cause = _python_error(text[frame.end() :]) if frame else _worker_error(text)
    line = f"{frame['file']}, line {frame['line']}, in {frame['function']}" if frame else None
    parts = [cause or _first_line(str(error)), line, _damaged_file(text)]
    return "; ".join(part for part in parts if part)


def _last_user_frame(text: str) -> re.Match[str] | None:
    frames = [frame for frame in _FRAME.finditer(text) if _is_user_code(frame["file"])]
    return frames[-1] if frames else None


def _python_error(text: str) -> str | None:
    found = next((match for line in text.splitlines() if (match := _PYTHON_ERROR.match(line))), None)
    return f"{found[1].rpartition('.')[2]}: {found[2]}".rstrip(": ") if found else None


def _worker_error(text: str) -> str | None:
    """An error in an executor's Python outside of the user's code."""
    position = text.rfind("worker.py")
    return _python_error(text[position:]) if position >= 0 else None


def _is_user_code(file: str) -> bool:
    is_library = "site-packages" in file or "/lib/python" in file or file.startswith("<") or not file.endswith(".py")
    return not is_library and not file.startswith(_LIBRARIES) and "/pyspark.zip/" not in file


def _damaged_file(text: str) -> str | None:
    is_about_a_file = "FAILED_READ_FILE" in text or "CANNOT_READ_FILE" in text or "is not a Parquet file" in text
    found = _UNREADABLE.search(text) if is_about_a_file else None
    return f"the stream file {found[1]} is damaged" if found else None


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("[")), lines[0] if lines else "no reason given")
