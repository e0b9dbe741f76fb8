"""Queueing models of one operator: its sojourn time as a function of its number of executors."""
