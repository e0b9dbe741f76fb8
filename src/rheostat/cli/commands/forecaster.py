"""`rheostat forecaster`: the forecasting models as an HTTP service."""

from typing import Annotated

import typer
from rich.console import Console

from rheostat.serve.listen import serve


def serve_forecasts(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free port.")] = 8888,
) -> None:
    """Serve forecasts over HTTP: POST samples to /forecast; /openapi.json describes the API. Ctrl-C stops it."""
    serve(host, port, lambda address: Console().print(f"forecaster listening on {address}", highlight=False))
