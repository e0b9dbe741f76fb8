import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from rheostat.errors import ConfigError
from rheostat.forecast import MODELS, Forecaster, make_model
from rheostat.serve import service
from rheostat.serve.listen import serve
from rheostat.serve.service import MOST_BYTES, make_service


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(make_service()) as made:
        yield made


def test_samples_posted_come_back_as_a_forecast_with_bounds(client: TestClient) -> None:
    samples = [10.0 + step for step in range(50)]
    answer = client.post("/forecast", json={"samples": samples, "horizon": 5, "model": "linear"})
    expected = Forecaster(make_model("linear")).forecast(samples, 5)
    told = answer.json()
    assert answer.status_code == 200
    assert told["mean"] == pytest.approx([60, 61, 62, 63, 64])
    assert told["low"] == pytest.approx(expected.low.tolist())
    assert told["high"] == pytest.approx(expected.high.tolist())
    assert told["total"] == pytest.approx(310)
    assert (told["model"], told["problem"]) == ("linear", None)


def test_a_fallback_is_said(client: TestClient) -> None:
    told = client.post("/forecast", json={"samples": [4], "horizon": 2, "model": "fft"}).json()
    assert told["model"] == "basic"
    assert told["problem"] == "1 samples are too few for fft, which needs 40: basic instead"


def test_models_are_listed(client: TestClient) -> None:
    told = client.get("/models").json()
    assert [each["name"] for each in told] == list(MODELS)
    assert client.get("/health").json() == {"status": "ok"}


def test_the_description_is_openapi_and_every_reference_in_it_leads_somewhere(client: TestClient) -> None:
    told = client.get("/openapi.json").json()
    assert told["openapi"] == "3.1.0"
    assert set(told["paths"]) == {"/forecast", "/models"}
    properties = told["components"]["schemas"]["ForecastRequest"]["properties"]
    assert set(properties) == {"samples", "horizon", "model", "level", "seed"}
    for reference in _references(told):
        assert reference.removeprefix("#/components/schemas/") in told["components"]["schemas"]


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from [part["$ref"]] if "$ref" in part else []
        part = list(part.values())
    for inner in part if isinstance(part, list) else []:
        yield from _references(inner)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ("{", 400, "not JSON"),
        ("", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        ('{"samples": [1, NaN]}', 400, "not JSON"),
        ('{"samples": [1, 1e999]}', 422, "out of range"),
        ('{"samples": [1, 1e300]}', 422, "<= 1e+100"),
        ("[1, 2]", 422, "Expected 'object'"),
        ("{}", 422, "samples"),
        ('{"samples": []}', 422, "length >= 1"),
        ('{"samples": [1, "two"]}', 422, "$.samples[1]"),
        ('{"samples": [1, -2]}', 422, ">= 0"),
        ('{"samples": [1, null]}', 422, "$.samples[1]"),
        ('{"samples": [1], "horizon": 0}', 422, "$.horizon"),
        ('{"samples": [1], "horizon": 1000000}', 422, "$.horizon"),
        ('{"samples": [1], "level": 2}', 422, "$.level"),
        ('{"samples": [1], "modle": "basic"}', 422, "modle"),
        ('{"samples": [1], "model": "linaer"}', 422, "did you mean 'linear'"),
        (json.dumps({"samples": [1], "model": "x" * 1000}), 422, "length <= 100"),
        (json.dumps({"samples": [1] * 10_001}), 422, "length <= 10000"),
        ('{"samples": [' + "1," * MOST_BYTES + "1]}", 413, "more than 1,000,000 bytes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_served_is_refused_with_a_reason(
    client: TestClient, body: str | bytes, status: int, told: str
) -> None:
    answer = client.post("/forecast", content=body)
    assert answer.status_code == status
    assert told in answer.json()["error"]


def test_a_level_next_to_one_is_served(client: TestClient) -> None:
    answer = client.post("/forecast", json={"samples": [1, 2, 3], "level": 0.9999999999999999, "model": "basic"})
    assert answer.status_code == 200


def answered(receive: Callable[[], Awaitable[Any]]) -> tuple[int, bytes]:
    """The status and the body that a request gets whose own body comes by `receive`."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/forecast", "headers": [], "query_string": b""}
    asyncio.run(make_service()(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


def test_a_client_that_leaves_in_the_middle_is_no_failure_of_the_service() -> None:
    told = iter([{"type": "http.request", "body": b'{"samp', "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(told)

    status, body = answered(receive)
    assert status == 400
    assert b"disconnected after 6 bytes" in body


def test_a_body_that_does_not_come_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "BODY_TIMEOUT_S", 0.01)

    async def receive() -> Any:
        await asyncio.Event().wait()

    status, body = answered(receive)
    assert status == 408
    assert b"only 0 bytes of the body arrived within 0.01 s" in body


def test_an_unknown_path_and_a_wrong_method_are_refused_with_what_there_is(client: TestClient) -> None:
    for answer, status in ((client.get("/predict"), 404), (client.get("/forecast"), 405)):
        assert answer.status_code == status
        assert "POST /forecast" in answer.json()["error"]


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen at '127.0.0.1', port {port}"):
            serve("127.0.0.1", port, lambda address: None)


def test_an_address_that_is_none_is_said() -> None:
    for host in ("no such host", "x" * 70):
        with pytest.raises(ConfigError, match=f"cannot listen at '{host}'"):
            serve(host, 0, lambda address: None)


@contextmanager
def forecaster() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address at which it serves."""
    command = [sys.executable, "-m", "rheostat.cli", "forecaster", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **pipes) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


def test_the_command_serves_until_it_is_interrupted() -> None:
    import httpx

    with forecaster() as (process, address):
        asked = {"samples": [1, 2, 3], "horizon": 1, "model": "basic"}
        answer = httpx.post(f"{address}/forecast", json=asked, timeout=60)
        assert answer.json()["mean"] == [3.0]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_a_half_sent_request_is_answered_when_the_command_is_interrupted() -> None:
    with forecaster() as (process, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as half:
            half.sendall(
                b"POST /forecast HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
            )
            assert b"100 Continue" in half.recv(1000)  # so the service waits for the body
            process.send_signal(signal.SIGINT)
            assert b"503 Service Unavailable" in half.recv(1000)
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
