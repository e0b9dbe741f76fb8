"""Processes: child processes that end when this one does."""
