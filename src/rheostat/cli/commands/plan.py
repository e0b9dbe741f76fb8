"""`rheostat plan`: the number of executors for each operator, computed with queueing theory."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rheostat.cli.shared_options import Json
from rheostat.duration import positive_seconds
from rheostat.errors import ConfigError
from rheostat.queueing import planfile

_MAX_EXECUTORS = 10_000
"""More than a Spark application has; the search time can grow with the square of it."""


def plan_allocation(
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="Operators and their rates.", show_default=False)],
    kmax: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_EXECUTORS, help="Minimise latency with at most this many executors."),
    ] = None,
    tmax: Annotated[
        str | None, typer.Option(help="Meet this mean latency with as few executors as possible, e.g. 1.5s.")
    ] = None,
    model: Annotated[str, typer.Option(help=f"Queueing model: one of {', '.join(planfile.MODELS)}.")] = "mmk",
    json: Json = False,
) -> None:
    """Compute executors for the operators in FILE.json (DRS): the best use of a budget, or the fewest for a latency."""
    if (kmax is None) == (tmax is None):
        raise ConfigError("give either --kmax N or --tmax LATENCY")
    t_max_s = None if tmax is None else positive_seconds(tmax, "--tmax")
    made = planfile.plan(planfile.read(file), kmax, t_max_s, model)
    print(msgspec.json.encode(made.as_dict()).decode() if json else made.as_text())
