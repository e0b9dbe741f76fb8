"""Diagnose: which action a pool needs, by the health of its executors."""
