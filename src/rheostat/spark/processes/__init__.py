"""Processes that end when this one does."""
