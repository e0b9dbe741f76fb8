"""Log cause: the line in the output of a process that most likely says why it ended."""

import re

_EXCEPTION = re.compile(r"(?:Caused by: )?[\w.$]*(?:Exception|Error)\b.*")
_TAIL = 64 * 1024
_LONGEST = 300


def cause_in(log: str) -> str:
    """The first exception in the last part of a log, else an error, else the last line."""
    lines = [line.strip() for line in log[-_TAIL:].splitlines() if line.strip()]
    causes = [line for line in lines if _EXCEPTION.match(line)] or [line for line in lines if " ERROR " in line]
    return (causes or lines[-1:] or ["its log is empty"])[0][:_LONGEST]
