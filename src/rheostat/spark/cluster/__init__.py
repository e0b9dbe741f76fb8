"""A Spark cluster of our own, on this machine."""
