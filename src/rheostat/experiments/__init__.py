"""Experiments: scenarios simulated under policies, from a scenario file to a table of results."""
