"""`rheostat plan`: how many executors each operator needs, by queueing theory alone."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rheostat.cli.options import Json
from rheostat.duration import positive_seconds
from rheostat.errors import ConfigError
from rheostat.queueing import planfile

_MOST = 10_000
"""More executors than a Spark application has; the search may take the square of the time."""


def plan_allocation(
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="Operators and their rates.", show_default=False)],
    kmax: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST, help="Spend at most this many executors for the least latency."),
    ] = None,
    tmax: Annotated[str | None, typer.Option(help="Meet this latency with the fewest executors, e.g. 1.5s.")] = None,
    model: Annotated[str, typer.Option(help=f"Queueing model: one of {', '.join(planfile.MODELS)}.")] = "mmk",
    json: Json = False,
) -> None:
    """Plan executors for the operators in FILE.json (DRS): the best use of a budget, or the least for a latency."""
    if (kmax is None) == (tmax is None):
        raise ConfigError("give either --kmax N or --tmax LATENCY")
    t_max_s = None if tmax is None else positive_seconds(tmax, "--tmax")
    made = planfile.plan(planfile.read(file), kmax, t_max_s, model)
    print(msgspec.json.encode(made.as_dict()).decode() if json else made.as_text())
