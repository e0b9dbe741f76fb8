"""Operators that share a query, and how that changes while they run."""
