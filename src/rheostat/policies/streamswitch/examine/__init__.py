"""Examine: what the counters of an operator and its executors say about rates and latencies."""
