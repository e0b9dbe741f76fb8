"""OpenAPI 3.1 description of the service, from the types of its messages."""

from typing import Any

import msgspec

from rheostat.serve.messages import ForecastAnswer, ForecastRequest, ModelEntry, Refusal

_REFUSALS = {
    "400": "the body is not JSON",
    "413": "the body is too large",
    "422": "a value cannot be used; the error names it",
}


def description(version: str) -> dict[str, Any]:
    types = (ForecastRequest, ForecastAnswer, ModelEntry, Refusal)
    (request, answer, entry, refusal), components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    forecast = {
        "summary": "Forecast a series of samples",
        "requestBody": {"required": True, "content": _json(request)},
        "responses": {
            "200": _response("the steps after the samples", answer),
            **{status: _response(why, refusal) for status, why in _REFUSALS.items()},
        },
    }
    models = {
        "summary": "The forecasting models",
        "responses": {"200": _response("all models", {"type": "array", "items": entry})},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rheostat forecaster", "version": version},
        "paths": {"/forecast": {"post": forecast}, "/models": {"get": models}},
        "components": {"schemas": components},
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _response(why: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": why, "content": _json(schema)}
