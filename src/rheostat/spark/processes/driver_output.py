"""Driver output: redirects what the driver's JVM prints to a log file, away from a terminal with a live view."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOG4J = Path(__file__).with_name("spark-log4j2.properties")
_STDERR = 2


@contextmanager
def spark_output_to(log: Path) -> Iterator[None]:
    """A JVM that starts within the block writes to the file `log` for as long as it lives.

    It inherits standard error as it is when it starts. Python keeps writing its warnings to the terminal.
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
