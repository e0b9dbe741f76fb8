"""Operators of a topology as Structured Streaming queries."""
