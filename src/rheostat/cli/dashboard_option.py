"""Dashboard option: `--dashboard [HOST:PORT]`, whose value may be left out, and where the page is in words."""

from typing import Annotated

import typer
from rich.console import Console
from typer.core import TyperCommand

from rheostat.web.address import LOOPBACK
from rheostat.web.dashboard import Dashboard

Address = Annotated[
    str | None,
    typer.Option(
        "--dashboard",
        metavar="[HOST:PORT]",
        help="Serve a page of the run, by default on this machine only; its address is printed.",
    ),
]


class DashboardCommand(TyperCommand):
    """A command with `--dashboard` that may stand without a value."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        following = [*args[1:], "--"]
        filled = [
            f"--dashboard={LOOPBACK}" if each == "--dashboard" and after.startswith("-") else each
            for each, after in zip(args, following, strict=False)
        ]
        return super().parse_args(ctx, filled)


def print_address(dashboard: Dashboard, console: Console) -> None:
    """The address with the token, which lets whoever opens it steer the run."""
    console.print(f"dashboard: {dashboard.steering_url}", highlight=False, markup=False, soft_wrap=True)
