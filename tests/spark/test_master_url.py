"""Masters that cannot be used are refused in seconds, with host, port and reason."""

import socket

import pytest

from rheostat.errors import ConfigError, PlantError
from rheostat.spark.doctor import diagnose
from rheostat.spark.master_url import check_master


@pytest.fixture
def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_master_that_does_not_answer_is_named_with_host_and_port(free_port):
    url = f"spark://127.0.0.1:{free_port}"
    with pytest.raises(PlantError, match=f"127.0.0.1:{free_port} cannot be reached .*Connection refused"):
        check_master(url)


def test_one_of_several_masters_is_enough(free_port):
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_master(f"spark://127.0.0.1:{free_port},127.0.0.1:{server.getsockname()[1]}")


def test_all_of_several_masters_are_named(free_port):
    with pytest.raises(PlantError, match=f"127.0.0.1:{free_port} .*; localhost:{free_port} "):
        check_master(f"spark://127.0.0.1:{free_port},localhost:{free_port}")


@pytest.mark.parametrize("address", ["host", "host:", ":7077", "host:70777"])
def test_an_address_without_a_port_is_refused(address):
    with pytest.raises(ConfigError, match=r"is not HOST:PORT: write e.g. spark://host:7077"):
        check_master(f"spark://{address}")


def test_yarn_needs_its_configuration(monkeypatch):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    with pytest.raises(ConfigError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"):
        check_master("yarn")
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    check_master("yarn")


@pytest.mark.parametrize("url", ["local[2]", "k8s://https://host:443", "local-cluster[2,1,1024]"])
def test_other_masters_are_left_to_spark(url):
    check_master(url)


def test_the_doctor_reports_such_a_master_in_one_row(monkeypatch, free_port):
    monkeypatch.setattr("rheostat.spark.session._check_that_a_session_can_start", lambda: None)
    (row,) = diagnose(f"spark://127.0.0.1:{free_port}")
    assert (row.name, row.can) == ("session", False)
    assert f"127.0.0.1:{free_port} cannot be reached" in row.why
