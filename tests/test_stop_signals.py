"""Stop signals in a process of its own: raised where it waits, and as before afterwards."""

import os
import signal
import threading
from types import FrameType

import pytest

from rheostat.stop_signals import exit_status, jobs_survive_interrupt, raised_stop_signals


@pytest.fixture(autouse=True)
def plain_handlers():  # type: ignore[no-untyped-def]
    """The handlers of a program that has none of its own, and those of the test run again afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: int) -> None:
    """Send a signal to this process, and give Python the time to handle it."""
    os.kill(os.getpid(), number)
    threading.Event().wait(0.5)


@pytest.mark.parametrize(
    ("number", "kind", "status"), [(signal.SIGINT, KeyboardInterrupt, 130), (signal.SIGTERM, SystemExit, 143)]
)
def test_a_signal_is_raised_once_and_tells_the_exit_status(number, kind, status):  # type: ignore[no-untyped-def]
    with pytest.raises(kind) as raised, raised_stop_signals():
        send(number)
    assert exit_status(raised.value) == status
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_programs_own_is_kept():
    got = []
    signal.signal(signal.SIGTERM, lambda number, frame: got.append(number))
    with raised_stop_signals():
        send(signal.SIGTERM)
    assert got == [signal.SIGTERM]


def test_pysparks_handler_which_cancels_all_jobs_is_set_aside_for_the_block():
    cancelled = []

    def handler(number: int, frame: FrameType | None) -> None:
        cancelled.append(number)

    handler.__module__ = "pyspark.core.context"
    signal.signal(signal.SIGINT, handler)
    with jobs_survive_interrupt():
        with pytest.raises(KeyboardInterrupt), raised_stop_signals():
            send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
    assert not cancelled
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_install_nothing():
    errors = []

    def wait() -> None:
        try:
            with raised_stop_signals(), jobs_survive_interrupt():
                pass
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert not errors
