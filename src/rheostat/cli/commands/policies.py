"""`rheostat policies`: the available policies and their options."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from rheostat.policies.registry import DEFAULT_POLICY, options_of, policies, policy_class


def list_policies(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show the options of this policy.", show_default=False)
    ] = None,
) -> None:
    """List the policies, or the options of one policy."""
    console = Console()
    if name is None:
        table = Table("policy", "what it does", box=None)
        for policy_name, policy in sorted(policies().items()):
            default = " (default)" if policy_name == DEFAULT_POLICY else ""
            table.add_row(policy_name + default, policy.summary)
        console.print(table)
        return
    policy = policy_class(name)
    console.print(f"{policy.name}: {policy.summary}", highlight=False)
    table = Table("option", "default", "meaning", box=None)
    for row in options_of(policy):
        table.add_row(row.name, "required" if row.required else _default_text(row.default), row.description)
    console.print(table)


def _default_text(default: object) -> str:
    return "–" if default is None else str(default)
