"""JSON files written by people: decoded into a type, with errors that name the file."""

from pathlib import Path
from typing import TypeVar

import msgspec

from rheostat.errors import ConfigError

Content = TypeVar("Content")


def read_json(path: Path, type: type[Content], what: str) -> Content:
    """The content of the file at `path`; `what` says in an error what kind of file it should be."""
    try:
        return parse_json(path.read_bytes(), type, str(path))
    except OSError as error:
        raise ConfigError(f"cannot read {what} {path}: {error.strerror}") from error


def parse_json(text: bytes | str, type: type[Content], where: str) -> Content:
    """The value that `text` holds; `where` names it in errors."""
    try:
        return msgspec.json.decode(text, type=type)
    except msgspec.ValidationError as error:
        message = str(error).replace("`", "'")
        raise ConfigError(f"{where}: {message}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{where}: not JSON: {error}") from error
