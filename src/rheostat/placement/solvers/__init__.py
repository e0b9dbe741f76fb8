"""Solvers: the steps of Ra-Stream, from a task graph to nodes and processes."""
