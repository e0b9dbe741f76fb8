"""`rheostat forecast`: the accuracy of the forecasting models on a recorded load."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.pictures import check_picture, draw_forecasts
from rheostat.cli.progress_bar import progress_bar
from rheostat.cli.shared_options import Json
from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.experiments.trace_samples import samples_of
from rheostat.forecast import MODELS, Forecaster, ForecastModel, make_model
from rheostat.forecast.model import Floats
from rheostat.forecast.rolling import Rolling, Scores, origins_in, roll
from rheostat.load import Trace


def forecast_trace(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE.csv",
            help="Recorded rates: a column timestamp or time (ISO, or seconds or milliseconds since the epoch), and a "
            "column of values.",
            show_default=False,
        ),
    ],
    column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column with the values, if there are several.", show_default=False),
    ] = None,
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}, or all.")] = "all",
    window: Annotated[int, typer.Option(min=1, help="Samples before each forecast that the model sees.")] = 100,
    horizon: Annotated[int, typer.Option(min=1, help="Samples that each forecast covers.")] = 30,
    stride: Annotated[
        int | None, typer.Option(min=1, help="Samples between two forecasts. Default: the horizon.")
    ] = None,
    level: Annotated[float, typer.Option(help="Probability that a value lies within its bounds.")] = 0.8,
    seed: Annotated[int, typer.Option(min=0, help="Random seed, for models that need one.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the forecasts into this file (.png, .svg, .pdf).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Forecast a recorded load from many points in time, each from earlier samples only, and score the forecasts."""
    if picture is not None:
        check_picture(picture)
    series = samples_of(Trace.from_csv(trace, column=column))
    models = _installed_models(seed) if model == "all" else [make_model(model, seed)]
    forecasters = [Forecaster(each, level=level) for each in models]
    rollings = _roll_all(forecasters, series, window, horizon, stride or horizon)
    scores = [rolling.scores() for rolling in rollings]
    if picture is not None:
        draw_forecasts(series, rollings, scores, trace.name, picture)
    if json:
        print(msgspec.json.encode(scores).decode())
    else:
        _print(scores, f"{trace.name}: {len(series)} samples, window {window}, horizon {horizon}")


def _installed_models(seed: int) -> list[ForecastModel]:
    """All models except those whose library is missing; the missing libraries are printed."""
    made, missing = [], set()
    for name in MODELS:
        try:
            made.append(make_model(name, seed))
        except ConfigError as error:
            missing.add(str(error))
    for reason in sorted(missing):
        print(f"skipped: {reason}", file=sys.stderr)
    return made


def _roll_all(forecasters: list[Forecaster], series: Floats, window: int, horizon: int, stride: int) -> list[Rolling]:
    total = len(forecasters) * len(origins_in(len(series), window, horizon, stride))
    with progress_bar() as bar:
        task = bar.add_task("forecasting", total=total)
        return [
            roll(each, series, window=window, horizon=horizon, stride=stride, progress=lambda: bar.advance(task))
            for each in forecasters
        ]


def _print(scores: list[Scores], title: str) -> None:
    columns = ("model", "MAPE", "WAPE", "bias", "interval", "pinball", "coverage", "fit", "fallbacks")
    print(f"{title}, {scores[0].origins} forecasts; bounds at {scores[0].level:.0%}")
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for column in columns:
        table.add_column(column, justify="left" if column == "model" else "right")
    for score in sorted(scores, key=lambda score: score.wape or 0.0):
        table.add_row(*_row(score))
    Console().print(table)
    for reason in sorted({reason for score in scores for reason in score.fallbacks}):
        Console().print(f"fallback: {reason}", highlight=False)


def _row(score: Scores) -> tuple[str, ...]:
    shares = (score.mape, score.wape, score.bias, score.interval_mape)
    return (
        score.model,
        *("–" if share is None else f"{share:.1%}" for share in shares),
        f"{score.pinball:.3g}",
        f"{score.coverage:.1%}",
        human(score.fit_s),
        str(sum(score.fallbacks.values())),
    )
