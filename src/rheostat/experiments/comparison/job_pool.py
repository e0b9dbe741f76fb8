"""Job pool: runs jobs in parallel processes, and yields what becomes of each as soon as it is known.

The processes end when the caller stops early or dies, however it dies: each holds the end of a pipe to it. Ctrl-C in a
terminal is for the caller alone.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

from rheostat.errors import RheostatError
from rheostat.experiments.comparison.jobs import Job, JobResult


class JobFailure(NamedTuple):
    """Why a job has no result."""

    why: str


def run_jobs(jobs: Sequence[Job], processes: int) -> Iterator[tuple[Job, JobResult | JobFailure]]:
    """In any order. With one process they run in this one, in their order."""
    if processes == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, _attempt(job)
        return
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(min(processes, len(jobs)), mp_context=context, initializer=_end_with, initargs=(reader,))
    try:
        with _without_interrupts():
            futures = {pool.submit(_attempt, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        raise RheostatError(
            "a process of the comparison ended abruptly, perhaps for lack of memory: the same command resumes, with "
            f"fewer --processes than {processes} it needs less"
        ) from None
    finally:
        writer.close()
        pool.shutdown(cancel_futures=True)
        reader.close()


def _attempt(job: Job) -> JobResult | JobFailure:
    try:
        return job.run()
    except RheostatError as error:
        return JobFailure(str(error))
    except Exception as error:
        return JobFailure(f"{type(error).__name__}: {error}")


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that are started meanwhile never see Ctrl-C; in this one it waits until the end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(reader: Connection) -> None:
    """In a worker: end as soon as the other end of the pipe is closed."""

    def wait() -> None:
        try:
            reader.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
