"""Shared options: command-line options that several commands have."""

from typing import Annotated, Any

import typer

from rheostat.errors import ConfigError
from rheostat.jsonfile import parse_json

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
PolicyName = Annotated[str | None, typer.Option("--policy", help="Policy name; `rheostat policies` lists them.")]
PolicyOptionTexts = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Option of the policy; can be repeated."),
]


def parse_policy_options(texts: list[str] | None) -> dict[str, Any] | None:
    """`NAME=VALUE` texts as a mapping; None when none were given. A value in braces is a JSON object."""
    if not texts:
        return None
    return dict(_pair(text) for text in texts)


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"policy option {text!r} must be written as NAME=VALUE, e.g. high=0.8")
    return name.strip(), _value(value.strip(), text)


def _value(text: str, option: str) -> Any:
    return parse_json(text, dict, f"policy option {option!r}") if text.startswith("{") else text
