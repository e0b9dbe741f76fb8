"""Errors: what Rheostat raises for a user's mistake or a plant's refusal.

Every message names the offending value and says what would be right. The command line prints the message
alone and exits with `exit_code`; anything that is not a `RheostatError` is a defect of ours.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class RheostatError(Exception):
    """Base of all errors that a user can cause or fix."""

    exit_code = 2


class ConfigError(RheostatError):
    """A value in a file, an option or an argument that cannot be used."""


class TopologyError(RheostatError):
    """A topology that cannot run; the message names the operator or stream at fault."""


class LoadError(RheostatError):
    """A trace or load shape that cannot be read; the message names file, line and value."""


class MissingTraceError(LoadError):
    """A recorded trace that is in none of the folders that were searched; it is not part of the project."""


class InfeasibleError(RheostatError):
    """A goal that no allowed allocation reaches; the message says what would be possible."""


class JournalError(RheostatError):
    """A journal that cannot be opened, or that belongs to another topology."""


class PlantError(RheostatError):
    """The plant (Spark or the simulator) could not do what was asked."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: `did you mean 'count'?`, or the list of what is known."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else "none is known"
