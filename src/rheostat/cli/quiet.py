"""Keeps Spark's own chatter out of a terminal that shows a live view."""

import logging
import os
from pathlib import Path

_LOG4J = Path(__file__).with_name("spark-log4j2.properties")


def quiet_spark(log: Path) -> None:
    """Let the driver's JVM, once it starts, write to the file `log`, and Python only warnings to the terminal."""
    log.parent.mkdir(parents=True, exist_ok=True)
    options = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} -Drheostat.log={log.absolute()}"
    os.environ["SPARK_SUBMIT_OPTS"] = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {options}".strip()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
