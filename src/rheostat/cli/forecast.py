"""`rheostat forecast`: how well the models forecast a recorded load."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.bar import progress_bar
from rheostat.cli.forecast_picture import draw
from rheostat.cli.options import Json
from rheostat.cli.picture_file import picture_file
from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.experiments.samples import samples_of
from rheostat.forecast import MODELS, Forecaster, ForecastModel, make_model
from rheostat.forecast.model import Floats
from rheostat.forecast.rolling import Rolling, Scores, origins_in, roll
from rheostat.load import Trace


def forecast_trace(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE.csv", help="Recorded rates: columns timestamp,value or time,value.", show_default=False
        ),
    ],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}; or all.")] = "all",
    window: Annotated[int, typer.Option(min=1, help="Samples that each forecast is made from.")] = 100,
    horizon: Annotated[int, typer.Option(min=1, help="Samples that each forecast is made for.")] = 30,
    stride: Annotated[
        int | None, typer.Option(min=1, help="Samples from one forecast to the next; left out: the horizon.")
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of a value between low and high.")] = 0.8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the models that draw.")] = 0,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the forecasts into this file (.png, .svg, .pdf).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Forecast a recorded load from every moment on, with nothing but what was known then, and compare."""
    if picture is not None:
        picture_file(picture)
    series = samples_of(Trace.from_csv(trace))
    models = _all_there_are(seed) if model == "all" else [make_model(model, seed)]
    forecasters = [Forecaster(each, level=level) for each in models]
    rollings = _rolled(forecasters, series, window, horizon, stride or horizon)
    scores = [rolling.scores() for rolling in rollings]
    if picture is not None:
        draw(series, rollings, scores, trace.name, picture)
    if json:
        print(msgspec.json.encode(scores).decode())
    else:
        _print(scores, f"{trace.name}: {len(series)} samples, window {window}, horizon {horizon}")


def _all_there_are(seed: int) -> list[ForecastModel]:
    """Without those whose library is not installed; what they need is told."""
    made, lacking = [], set()
    for name in MODELS:
        try:
            made.append(make_model(name, seed))
        except ConfigError as error:
            lacking.add(str(error))
    for why in sorted(lacking):
        print(f"left out: {why}", file=sys.stderr)
    return made


def _rolled(forecasters: list[Forecaster], series: Floats, window: int, horizon: int, stride: int) -> list[Rolling]:
    turns = len(forecasters) * len(origins_in(len(series), window, horizon, stride))
    with progress_bar() as bar:
        task = bar.add_task("forecasting", total=turns)
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
