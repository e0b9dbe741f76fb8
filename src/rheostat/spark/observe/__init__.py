"""Observing a Spark application: what its executors, tasks and queries show, as a snapshot. Nothing here acts on it."""
