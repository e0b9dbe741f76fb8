"""Options that several commands share."""

from typing import Annotated, Any

import typer

from rheostat.errors import ConfigError

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
PolicyName = Annotated[str | None, typer.Option("--policy", help="Name of a policy; `rheostat policies` lists them.")]
PolicyOptionTexts = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="An option of the policy; may be repeated."),
]


def parsed(options: list[str] | None) -> dict[str, Any] | None:
    """`NAME=VALUE` texts as a mapping; None when none were given."""
    if not options:
        return None
    return dict(_pair(text) for text in options)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"policy option {text!r} must be written as NAME=VALUE, e.g. high=0.8")
    return name.strip(), value.strip()
