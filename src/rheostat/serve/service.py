"""Forecasting service: POST /forecast, GET /models, GET /openapi.json, GET /health."""

import asyncio
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec

from rheostat.errors import ConfigError
from rheostat.forecast import MODELS, Forecaster, make_model
from rheostat.serve.messages import ForecastAnswer, ForecastRequest, ModelEntry, Refusal
from rheostat.serve.openapi import description

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MOST_BYTES = 1_000_000
"""The largest body that is read: 10,000 samples need less in any notation."""
BODY_TIMEOUT_S = 30.0
"""How long the client may take to send the body."""

_decode = msgspec.json.Decoder(ForecastRequest).decode


class RefusedError(Exception):
    """A request that is answered with a reason."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


def make_service() -> "Starlette":
    """The application, for any ASGI server."""
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route
    except ImportError:
        raise ConfigError("the forecaster needs starlette and uvicorn: pip install 'rheostat[serve]'") from None
    routes = [
        Route("/forecast", _forecast, methods=["POST"]),
        Route("/models", _models),
        Route("/openapi.json", _describe),
        Route("/health", _health),
    ]
    return Starlette(routes=routes, exception_handlers={RefusedError: _refuse, HTTPException: _refuse_path})


def answer(request: ForecastRequest) -> ForecastAnswer:
    """What the service answers to a request that could be read."""
    forecaster = Forecaster(make_model(request.model, request.seed), level=request.level)
    made = forecaster.forecast(request.samples, request.horizon)
    return ForecastAnswer(
        model=made.model,
        mean=made.mean.tolist(),
        low=made.low.tolist(),
        high=made.high.tolist(),
        total=made.total,
        problem=made.problem,
    )


def read(body: bytes) -> ForecastRequest:
    """The request in `body`; refused with the reason if it is not valid."""
    try:
        return _decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error).replace("`", "'")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None


async def _forecast(request: "Request") -> "Response":
    from starlette.concurrency import run_in_threadpool

    wanted = read(await _body(request))
    try:
        return _json(await run_in_threadpool(answer, wanted))
    except ConfigError as error:
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None


async def _body(request: "Request") -> bytes:
    """The whole body, read only up to the largest size."""
    from starlette.requests import ClientDisconnect

    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    why = f"the body has more than {MOST_BYTES:,} bytes"
                    raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why)
    except ClientDisconnect:
        why = f"the client disconnected after {len(body):,} bytes of the body"
        raise RefusedError(HTTPStatus.BAD_REQUEST, why) from None
    except TimeoutError:
        why = f"only {len(body):,} bytes of the body arrived within {BODY_TIMEOUT_S:g} s: send it faster"
        raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, why) from None
    except asyncio.CancelledError:  # requests are cancelled only when the service stops
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "the forecaster is being stopped") from None
    return bytes(body)


async def _models(request: "Request") -> "Response":
    return _json([ModelEntry(name=m.name, summary=m.summary, least=m.least) for m in MODELS.values()])


async def _describe(request: "Request") -> "Response":
    return _json(description(version("rheostat")))


async def _health(request: "Request") -> "Response":
    return _json({"status": "ok"})


async def _refuse(request: "Request", error: Exception) -> "Response":
    assert isinstance(error, RefusedError)
    return _json(Refusal(str(error)), error.status)


async def _refuse_path(request: "Request", error: Any) -> "Response":
    """The answer to an unknown path or a wrong method."""
    there = "there are POST /forecast, GET /models, GET /openapi.json and GET /health"
    return _json(Refusal(f"{request.method} {request.url.path}: {error.detail}; {there}"), error.status_code)


def _json(content: object, status: int = HTTPStatus.OK) -> "Response":
    from starlette.responses import Response

    return Response(msgspec.json.encode(content), status_code=status, media_type="application/json")
