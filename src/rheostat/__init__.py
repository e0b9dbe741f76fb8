"""Rheostat keeps PySpark streaming pipelines within a latency SLA on as few executors as possible."""
