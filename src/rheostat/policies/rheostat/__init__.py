"""Rheostat: the project's own policy, and the default."""
