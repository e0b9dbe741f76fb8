"""Fusion: which operators share a query, and how that changes while the topology runs."""
