"""What went wrong in a query, said so that the user finds it: the operator, the line of the user's code, the file."""

import re
import traceback
from pathlib import Path

import pyspark

import rheostat
from rheostat.errors import PlantError

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_PYTHON_ERROR = re.compile(
    r"^\s*((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Iteration|Exit))\b:? ?(.*)"
)
_UNREADABLE = re.compile(r"(?:file:(?://)?)?(/[^\s\"']*?part-[^\s\"']+?\.parquet)")
_NOT_THE_USERS = tuple(str(Path(package.__file__ or "").parent) for package in (pyspark, rheostat))


class QueryError(PlantError):
    """A query of a topology that ended with an error. What it had committed stays; what it had not comes again."""

    def __init__(self, query: str, reason: str) -> None:
        super().__init__(f"operator {query!r} failed: {reason}")
        self.query = query
        self.reason = reason


def reason_of(error: BaseException) -> str:
    """The innermost cause in a line or two, with the user's own line of code if it is Python."""
    text = "\n".join([*traceback.format_exception(error), str(error)])
    parts = [_python_cause(text) or _first_line(str(error)), _users_line(text), _unreadable_file(text)]
    return "; ".join(part for part in parts if part)


def _python_cause(text: str) -> str | None:
    """The last line of the innermost Python traceback that holds user code."""
    blocks = re.split(r"Traceback \(most recent call last\):", text)
    for block in blocks[1:]:
        if _users_frame(block) is None:
            continue
        for line in block.splitlines():
            found = _PYTHON_ERROR.match(line)
            if found and not line.lstrip().startswith("File"):
                return f"{found[1].rpartition('.')[2]}: {found[2]}".rstrip(": ")
    return None


def _users_line(text: str) -> str | None:
    frame = _users_frame(text)
    return f"{frame['file']}, line {frame['line']}, in {frame['function']}" if frame else None


def _users_frame(text: str) -> re.Match[str] | None:
    frames = [frame for frame in _FRAME.finditer(text) if _is_users(frame["file"])]
    return frames[-1] if frames else None


def _is_users(file: str) -> bool:
    is_library = "site-packages" in file or "/lib/python" in file or file.startswith("<")
    return not is_library and not file.startswith(_NOT_THE_USERS) and "/pyspark.zip/" not in file


def _unreadable_file(text: str) -> str | None:
    is_about_a_file = "FAILED_READ_FILE" in text or "CANNOT_READ_FILE" in text or "is not a Parquet file" in text
    found = _UNREADABLE.search(text) if is_about_a_file else None
    return f"the stream file {found[1]} is damaged" if found else None


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("[")), lines[0] if lines else "no reason given")
