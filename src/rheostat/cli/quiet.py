"""Keeps Spark's own chatter out of a terminal that shows a live view."""

import logging


def quiet_spark() -> None:
    """Only warnings from the bridge to Spark, and no progress bars of its own."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
