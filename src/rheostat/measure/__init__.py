"""Measurement: from raw counters to rates, service rates, utilisation and latency."""
