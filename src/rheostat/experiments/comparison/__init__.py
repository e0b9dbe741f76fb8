"""Comparison: policies side by side on the same loads, seeds and limits."""
