"""Stop signals: SIGINT (Ctrl-C) and SIGTERM end a run after its running batches; a second signal ends it at once.

The first one is raised as an exception where the program waits. What ends the run then does so with the handlers that
were there before, so a second signal interrupts it (SIGINT) or kills the process (SIGTERM). Handlers of the program's
own are left alone, and so is every thread but the main one, which alone gets signals.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

_PYSPARK_CONTEXT = "pyspark.core.context"


@contextmanager
def raised_stop_signals() -> Iterator[None]:
    """Within the block SIGINT raises `KeyboardInterrupt`, and SIGTERM `SystemExit` with status 143."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if _is_main() else {}
    ours = {number: handler for number, handler in before.items() if _is_replaceable(handler)}
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


@contextmanager
def jobs_survive_interrupt() -> Iterator[None]:
    """Until the block ends SIGINT raises `KeyboardInterrupt` and no more: PySpark's handler would cancel all jobs."""
    handler = signal.getsignal(signal.SIGINT)
    if not (_is_main() and _is_pysparks(handler)):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if _is_main():
            signal.signal(signal.SIGINT, handler)


def exit_status(stop: KeyboardInterrupt | SystemExit) -> int:
    """The status a shell expects of a program that a signal ended: 130 after SIGINT, 143 after SIGTERM."""
    if isinstance(stop, KeyboardInterrupt):
        return 128 + signal.SIGINT
    return stop.code if isinstance(stop.code, int) else 1


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _is_replaceable(handler: Any) -> bool:
    return handler in (signal.SIG_DFL, signal.default_int_handler) or _is_pysparks(handler)


def _is_pysparks(handler: Any) -> bool:
    return getattr(handler, "__module__", None) == _PYSPARK_CONTEXT


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
