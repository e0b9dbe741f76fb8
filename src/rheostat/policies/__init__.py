"""Policies: each maps observations to decisions, reads no clock, does no I/O and draws no randomness."""
