"""Shared options: command-line options that several commands have."""

from pathlib import Path
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
JournalFile = Annotated[
    Path,
    typer.Argument(metavar="JOURNAL", help="A journal file, e.g. rheostat-run/journal.db.", show_default=False),
]
Traces = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder with recorded traces that are not in the folder of the scenario."),
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


def parse_pairs(texts: list[str] | None, option: str, example: str) -> dict[str, str] | None:
    """`NAME=VALUE` texts of a repeated option as a mapping; None when none were given."""
    if not texts:
        return None
    pairs = [text.partition("=") for text in texts]
    for text, (name, equals, value) in zip(texts, pairs, strict=True):
        if not (name.strip() and equals and value.strip()):
            raise ConfigError(f"{option} {text!r} must be written as NAME=VALUE, e.g. {example}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def parse_numbers(texts: list[str] | None, option: str) -> int | dict[str, int] | None:
    """One number for all operators, or `OPERATOR=N` texts of a repeated option; None when none were given."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return _number(texts[0], texts[0], option)
    pairs = parse_pairs(texts, option, "split=2") or {}
    return {name: _number(value, f"{name}={value}", option) for name, value in pairs.items()}


def _number(text: str, given: str, option: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise ConfigError(f"{option} {given!r} is not a number of executors: give N or OPERATOR=N with N >= 1")
    return int(text)
