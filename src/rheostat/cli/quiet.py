"""Keeps Spark's own chatter out of a terminal that shows a live view."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOG4J = Path(__file__).with_name("spark-log4j2.properties")
_STDERR = 2


@contextmanager
def quiet_spark(log: Path) -> Iterator[None]:
    """Let a driver's JVM that is started within the block write to the file `log`, all its life.

    It has what is standard error while it starts. Python goes on writing warnings to the terminal.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    options = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} -Drheostat.log={log.absolute()}"
    os.environ["SPARK_SUBMIT_OPTS"] = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {options}".strip()
    terminal = os.fdopen(os.dup(_STDERR), "w", buffering=1)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=terminal)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with log.open("a") as file:
        os.dup2(file.fileno(), _STDERR)
    try:
        yield
    finally:
        os.dup2(terminal.fileno(), _STDERR)
