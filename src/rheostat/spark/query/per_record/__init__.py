"""Operators as functions on single records."""
