"""Policies tried out on scenarios: whole runs, from a file to a table of results."""
