"""Baselines: other algorithms, and exact optima, to compare Ra-Stream with."""
