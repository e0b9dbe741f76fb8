"""`rheostat init`: writes a commented file with all settings of `rheostat run`."""

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli.settings_template import settings_template
from rheostat.errors import ConfigError


def write_settings(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="File to write.")] = Path("rheostat.toml"),
) -> None:
    """Write a TOML file with all settings of `rheostat run`, their defaults and what they mean."""
    try:
        with file.open("x", encoding="utf-8") as output:
            output.write(settings_template())
    except FileExistsError:
        raise ConfigError(f"{str(file)!r} already exists: give another file, or remove it first") from None
    print(f"wrote {file}; set app and sla, then: rheostat run --config {file}")
