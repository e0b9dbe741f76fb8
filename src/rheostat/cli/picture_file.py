"""The file that a picture goes to: looked at before the work begins, so that hours do not end in a misspelt path."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rheostat.errors import ConfigError

_ENDINGS = (".png", ".svg", ".pdf")


def picture_file(path: Path) -> Path:
    """`path`, if a picture can be written there."""
    if path.suffix.lower() not in _ENDINGS:
        raise ConfigError(f"picture {str(path)!r} must end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"picture {str(path)!r} cannot be written: name a file in a folder that exists")
    if find_spec("matplotlib") is None:
        raise ConfigError("pictures need matplotlib: pip install 'rheostat[plot]'")
    return path


def save(figure: Any, path: Path) -> None:
    """Write a matplotlib figure; the ending decides the format."""
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise ConfigError(f"picture {str(path)!r} cannot be written: {error.strerror or error}") from None
