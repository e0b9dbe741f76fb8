"""Allocation of executors to the operators of a network."""
