"""Messages of the service, requests and answers: declared once, for decoding and for its description."""

from typing import Annotated

import msgspec

from rheostat.forecast.forecaster import LARGEST_SAMPLE

MOST_SAMPLES = 10_000
MOST_STEPS = 10_000
LONGEST_NAME = 100

Sample = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_SAMPLE)]


class ForecastRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Samples taken at equal distances, the latest last, and how far to forecast."""

    samples: Annotated[
        list[Sample],
        msgspec.Meta(
            min_length=1, max_length=MOST_SAMPLES, description="events per step, the latest last", examples=[[5, 7, 6]]
        ),
    ]
    horizon: Annotated[int, msgspec.Meta(ge=1, le=MOST_STEPS, description="steps to forecast")] = 30
    model: Annotated[
        str, msgspec.Meta(max_length=LONGEST_NAME, description="name of a model; GET /models lists them")
    ] = "select"
    level: Annotated[float, msgspec.Meta(gt=0, lt=1, description="probability of a value between low and high")] = 0.8
    seed: Annotated[int, msgspec.Meta(ge=0, description="seed of models that use random numbers")] = 0


class ForecastAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One value for each step, the latest last. `problem` says why `model` is not the requested one."""

    model: str
    mean: list[float]
    low: list[float]
    high: list[float]
    total: float
    problem: str | None = None


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A model, and how many samples it needs."""

    name: str
    summary: str
    least: int


class Refusal(msgspec.Struct, frozen=True):
    """Why a request was not served."""

    error: str
